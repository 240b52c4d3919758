// Requests to the service. What changes something carries a value that a page of another site cannot know.

let csrf = null;

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? body?.title ?? `the service answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

async function answer(response) {
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    body = { detail: text.slice(0, 200) };
  }
  if (!response.ok) throw new Problem(response.status, body);
  return body;
}

export async function get(path, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined);
  const search = given.length ? `?${new URLSearchParams(given)}` : "";
  return answer(await fetch(`${path}${search}`, { credentials: "same-origin", cache: "no-store" }));
}

export async function send(method, path, body) {
  return answer(
    await fetch(path, {
      method,
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", ...(csrf === null ? {} : { "X-CSRF-Token": csrf }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    }),
  );
}

// Who is signed in: their scopes, and whether there is a session to end.
export async function session() {
  const found = await get("v1/session");
  csrf = found.csrf;
  return found;
}

export async function signIn(token) {
  const headers = { Authorization: `Bearer ${token.trim()}` };
  return answer(await fetch("v1/session", { method: "POST", credentials: "same-origin", headers }));
}

export const of = (study, part) => `dashboard/studies/${encodeURIComponent(study)}/${part}`;

// Calls `changed` whenever the study (or any study) has changed, at most once in `pause` milliseconds.
export function follow(study, changed, pause = 1000) {
  const live = document.getElementById("live");
  const source = new EventSource(study === null ? "v1/events" : `v1/events?${new URLSearchParams({ study })}`);
  let timer = null;
  let again = false;
  let stopped = false;
  const run = async () => {
    again = false;
    try {
      await changed();
    } catch (error) {
      console.warn(error);
    }
    timer = stopped ? null : setTimeout(() => { timer = null; if (again) soon(); }, pause);
  };
  const soon = () => {
    if (timer !== null) again = true;
    else { timer = setTimeout(run, 0); }
  };
  source.onopen = () => { live.textContent = "live"; live.className = "on"; };
  source.onerror = () => { live.textContent = "reconnecting"; live.className = "off"; };
  source.addEventListener("change", soon);
  return () => { stopped = true; clearTimeout(timer); source.close(); };
}
