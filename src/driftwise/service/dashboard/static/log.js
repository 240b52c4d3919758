// The log, newest first, with corrections for whoever may make them.

import { get, of, send } from "./api.js";
import { h, number, setting, show } from "./dom.js";

export function log(target, name, changed) {
  let before = null;
  let editing = false; // what comes in meanwhile must not wipe out what somebody types
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Entries of the log" });
  const pages = h("p", { class: "pages" });
  const message = h("p", { role: "status", class: "message" });
  show(target, message, table, pages);

  async function refresh() {
    if (editing) return;
    const data = await get(of(name, "log"), { before });
    if (editing) return;
    const may = (document.body.dataset.may ?? "").split(" ").includes("admin");
    const columns = ["number", "outcome", "setting", "at", "", ...(may ? ["correct"] : [])];
    show(table, data.rows.length
      ? h("table", null, h("thead", null, h("tr", null, columns.map((text) => text
        ? h("th", { scope: "col" }, text)
        : h("td", null)))), h("tbody", null, data.rows.map((row) => line(row, may))))
      : h("p", { class: "muted" }, "The log is empty."));
    const turn = (text, to) => h("button", { type: "button", onclick: () => { before = to; done(); } }, text);
    show(pages, before === null ? null : turn("Newest", null), data.older === null ? null : turn("Older", data.older));
  }

  function line(row, may) {
    const measures = Object.entries(row.measures).map(([measure, value]) => `${measure} ${number(value)}`).join(", ");
    return h("tr", null,
      h("td", null, String(row.number)),
      h("td", null, row.failed ? h("span", { class: "badge doubt" }, "failed") : number(row.reward), measures ? ` (${measures})` : ""),
      h("td", null, setting({ ...row.params, ...row.context })), h("td", null, number(row.at)),
      h("td", null, row.corrected ? h("span", { class: "badge" }, "corrected") : ""),
      may ? h("td", null, h("button", { type: "button", onclick: (event) => edit(event.target.closest("tr"), row) }, "Correct")) : null);
  }

  function done() {
    editing = false;
    return refresh();
  }

  function edit(line, row) {
    editing = true;
    const [reward, why] = ["reward", "why"].map((field) => h("input", { id: `${field}-${row.number}`, name: field,
      ...(field === "reward" ? { type: "number", step: "any", value: row.reward ?? "" } : { type: "text", maxlength: 200 }) }));
    const form = h("form", { class: "correct" },
      h("label", { for: reward.id }, "Reward "), reward, " ", h("label", { for: why.id }, "Why "), why, " ",
      h("button", { type: "submit" }, "Correct"), " ",
      h("button", { type: "button", onclick: () => act("retract", { why: why.value }) }, "Retract"), " ",
      h("button", { type: "button", onclick: done }, "Cancel"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act("correct", { reward: Number(reward.value), why: why.value });
    });
    const act = async (verb, body) => {
      try {
        await send("POST", `v1/studies/${encodeURIComponent(name)}/${verb}`, { which: row.number, ...body });
        message.textContent = verb === "correct" ? `Observation ${row.number} was corrected.` : `Observation ${row.number} was retracted.`;
        await done();
        await changed();
      } catch (error) {
        message.textContent = error.message;
      }
    };
    line.replaceChildren(h("td", { colspan: 6 }, `${row.number}: `, form));
    reward.focus();
  }

  return { refresh };
}
