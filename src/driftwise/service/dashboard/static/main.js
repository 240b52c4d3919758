// Which page to show, and signing in.

import { Problem, send, session, signIn as begin } from "./api.js";
import { h, show } from "./dom.js";
import { glance } from "./glance.js";
import { study } from "./study.js";

const content = document.getElementById("content");
const crumb = document.getElementById("crumb");
const signOut = document.getElementById("sign-out");
let stop = () => {};
let turn = 0;

async function route() {
  stop();
  stop = () => {};
  const mine = ++turn;
  const found = location.hash.match(/^#\/study\/(.+)$/);
  const name = found ? decodeURIComponent(found[1]) : null;
  crumb.textContent = name === null ? "" : ` / ${name}`;
  document.title = name === null ? "driftwise" : `${name} – driftwise`;
  try {
    const ended = await (name === null ? glance(content) : study(content, name));
    if (mine === turn) stop = ended;
    else ended();
  } catch (error) {
    if (mine === turn) failed(error);
  }
}

function failed(error) {
  document.getElementById("live").textContent = "";
  if (error instanceof Problem && error.status === 401) signIn();
  else show(content, h("h1", null, error.status === 404 ? "There is no such study" : "This did not work"), h("p", { role: "alert" }, error.message),
    h("p", null, h("a", { href: "#/" }, "All studies")));
}

function signIn(message) {
  const field = h("input", { type: "password", id: "token", required: true, autocomplete: "current-password" });
  const form = h("form", { class: "sign-in" }, h("h1", null, "Sign in"),
    h("p", null, "The service needs a token with the right to read. driftwise token create makes one."),
    message ? h("p", { role: "alert", class: "problem" }, message) : null,
    h("label", { for: "token" }, "Token"), field, h("button", { type: "submit" }, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await begin(field.value);
      await whoAmI();
      route();
    } catch (error) {
      signIn(error.message);
    }
  });
  show(content, form);
  field.focus();
}

async function whoAmI() {
  try {
    const found = await session();
    signOut.hidden = found.csrf === null;
    document.body.dataset.may = found.scopes.join(" ");
  } catch {
    signOut.hidden = true;
  }
}

signOut.addEventListener("click", async () => {
  await send("DELETE", "v1/session");
  signOut.hidden = true;
  stop();
  signIn("You are signed out.");
});

addEventListener("hashchange", () => { route(); content.focus({ preventScroll: true }); });
await whoAmI();
route();
