// One study, live.

import { follow, get, of } from "./api.js";
import * as chart from "./chart.js";
import { compare } from "./compare.js";
import { h, number, plusMinus, section, setting, show } from "./dom.js";
import { log } from "./log.js";

export async function study(target, name) {
  const state = { span: "all", context: null };
  let mapped = null; // draws the map again
  let changes = []; // once they were looked for
  let drift = null;
  const parts = Object.fromEntries(["head", "rewards", "belief", "map", "world", "time", "awaited", "rules", "compare", "log"]
    .map((part) => [part, h("div", { class: `part ${part}` })]));
  const context = h("form", { class: "context", hidden: true });
  show(target, h("h1", null, name), parts.head, context,
    section("Rewards", parts.rewards), section("What it believes", parts.belief), section("Two parameters", parts.map),
    section("How the world moves", parts.world), section("Over time", parts.time), section("Awaited", parts.awaited),
    section("Rules and limits", parts.rules), section("Compare two spans", parts.compare), section("Log", parts.log));

  const query = () => (state.context === null ? {} : { context: JSON.stringify(state.context) });
  async function loadHead() {
    const found = await get(of(name, "head"), query());
    show(parts.head, overview(found));
    show(parts.awaited, awaited(found));
    show(parts.rules, rules(found));
    return found;
  }

  async function loadRewards() {
    const first = state.span === "all" ? 1 : Math.max(1, head.counts.last - Number(state.span) + 1);
    const data = await get(of(name, "rewards"), { first });
    const choose = h("select", { "aria-label": "Which rewards to show" },
      [["all", "all"], ["1000", "the last 1,000"], ["200", "the last 200"], ["50", "the last 50"]].map(([value, text]) =>
        h("option", { value, selected: value === state.span }, text)));
    choose.addEventListener("change", () => { state.span = choose.value; loadRewards(); });
    show(parts.rewards, h("p", { class: "tools" }, "Show ", choose,
      data.every > 1 ? ` One of ${number(data.every, 3)} is drawn.` : null), chart.rewards(data, marked(), quantity), legend());
  }

  // The changes, once they were looked for, and until then the most probable one.
  function marked() {
    if (changes.length || !drift?.change || drift.change.probability < 0.5) return changes;
    return [{ ...drift.change, noticed: null, taken_back: null }];
  }

  async function loadBelief() {
    const data = await get(of(name, "belief"), query());
    show(parts.belief, data.slices.length
      ? data.slices.map((slice) => h("div", { class: "slice" }, h("h3", null, slice.name),
        slice.numeric ? chart.curve(slice, quantity) : chart.choices(slice, quantity)))
      : h("p", { class: "muted" }, "Nothing is known yet."));
  }

  function mapForm() {
    const names = head.parameters.map((each) => each.name);
    if (names.length < 2) {
      show(parts.map, h("p", { class: "muted" }, "A map needs two parameters."));
      return;
    }
    const choice = (label, at) => h("select", { "aria-label": label }, names.map((each, i) => h("option", { selected: i === at }, each)));
    const [across, up] = [choice("Parameter across", 0), choice("Parameter up", 1)];
    const picture = h("div", null);
    mapped = async () => {
      if (!head.counts.rewards) return;
      if (across.value === up.value) {
        show(picture, h("p", { class: "muted" }, "Choose two different parameters."));
        return;
      }
      show(picture, chart.map(await get(of(name, "map"), { across: across.value, up: up.value, ...query() }), quantity));
    };
    for (const each of [across, up]) each.addEventListener("change", mapped);
    show(parts.map, h("p", { class: "tools" }, across, " and ", up, ` (the stronger the colour, the higher the ${quantity})`), picture);
  }

  async function changed() {
    head = await loadHead();
    await loadRewards();
    await Promise.all([loadBelief(), mapped?.(), entries.refresh()]);
    const [moves, forecast] = await Promise.all([get(of(name, "moves")), get(of(name, "forecast"))]);
    const known = JSON.stringify(marked());
    drift = moves.drift;
    show(parts.world, world(drift, forecast));
    if (JSON.stringify(marked()) !== known) await loadRewards();
  }

  // Every observation is judged again for this, which takes seconds: only for whoever wants to see it.
  history(parts.time, async (picture) => {
    const [found, time] = await Promise.all([get(of(name, "changes")), get(of(name, "over-time"))]);
    changes = found.changes;
    show(picture, time.moments.length
      ? [noticed(changes),
        chart.line(time.moments.map((m) => [m[0], m[1]]), { x: "number of the observation", y: "rate of drift" },
          time.moments.filter((m) => m[3]).map((m) => [m[0], m[1]])),
        chart.line(time.moments.map((m) => [m[0], m[2]]), { x: "number of the observation", y: "observations in use" })]
      : h("p", { class: "muted" }, "Only the policy auto says how the world moved, once it has some rewards."));
    await loadRewards();
  });

  let head = await loadHead();
  const quantity = head.direction === "minimize" ? "cost" : "reward";
  const entries = log(parts.log, name, changed);
  compare(parts.compare, name, quantity, () => head.counts.last);
  if (head.context.length) contextForm(context, head, (given) => { state.context = given; changed(); });
  mapForm();

  const first = changed().catch((error) => show(parts.log, h("p", { role: "alert" }, error.message)));
  const stop = follow(name, async () => { await first; await changed(); });
  return stop;
}

const legend = () => h("p", { class: "legend" }, h("span", { class: "key dot" }, "told"), h("span", { class: "key odd" }, "ignored as an outlier"),
  h("span", { class: "key cross" }, "failed"), h("span", { class: "key change" }, "the world changed"));

function overview(head) {
  const best = head.recommended;
  return [
    best
      ? h("p", { class: "run" }, "Run ", h("strong", null, setting(best.params)), best.context ? ` where ${setting(best.context)}` : "",
        `: expected ${plusMinus(best.mean, best.std)} `,
        h("span", { class: best.sure ? "badge sure" : "badge doubt" }, best.sure ? "sure" : "not sure"))
      : h("p", { class: "muted" }, head.why_not),
    h("dl", { class: "facts" }, Object.entries({
      rewards: head.counts.rewards, awaited: head.counts.awaited, failures: head.counts.failed, corrections: head.counts.corrected,
      policy: head.policy, direction: head.direction,
    }).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, String(value))))),
  ];
}

function awaited(head) {
  if (!head.pending.length) return h("p", { class: "muted" }, "No suggestion is awaited.");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Awaited suggestions" },
    h("table", null, h("thead", null, h("tr", null, ["number", "id", "setting"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, head.pending.map((each) => h("tr", null, h("td", null, String(each.number)), h("td", null, each.id),
        h("td", null, setting({ ...each.params, ...each.context })))))));
}

function rules(head) {
  const limit = (each) => [each.low === null ? null : `at least ${number(each.low)}`, each.high === null ? null : `at most ${number(each.high)}`]
    .filter(Boolean).join(" and ");
  const lines = [
    ...head.where.map((text) => h("li", null, h("code", null, text))),
    ...head.limits.map((each) => h("li", null, `${each.name} ${limit(each)}`, head.safe ? ", only where that is safe" : "")),
  ];
  return lines.length ? h("ul", null, lines) : h("p", { class: "muted" }, "There are none.");
}

function world(drift, forecast) {
  if (!drift) return h("p", { class: "muted" }, "Only the policy auto says how the world moves, once it has some rewards.");
  return [
    drift.alarm ? h("p", { role: "alert", class: "alarm" }, `${drift.says[0]} The recommendation may not be what it was.`) : null,
    h("ul", null, drift.says.slice(drift.alarm ? 1 : 0).map((text) => h("li", null, text))),
    h("div", { class: "columns" },
      h("div", null, h("h3", null, "What matters"), chart.bars(drift.matters)),
      h("div", null, h("h3", null, "What moves"), chart.bars(drift.moves))),
    forecast.ahead.length ? [h("h3", null, "Forecast"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Forecast" },
      h("table", null, h("thead", null, h("tr", null, ["at", "best setting", "expected"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", null, forecast.ahead.map((each) => h("tr", null, h("td", null, number(each.at)), h("td", null, setting(each.params)),
          h("td", null, plusMinus(each.mean, each.std)))))))] : null,
  ];
}

function history(target, load) {
  const picture = h("div", null);
  const details = h("details", null, h("summary", null, "Changes and drift so far (takes some seconds)"), picture);
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    show(picture, h("p", { class: "muted", role: "status" }, "Judging the last observations one by one."));
    try {
      await load(picture);
    } catch (error) {
      show(picture, h("p", { role: "alert", class: "problem" }, error.message));
    }
  });
  show(target, details);
}

function noticed(changes) {
  if (!changes.length) return h("p", null, "No abrupt change was noticed.");
  const rows = changes.toReversed().slice(0, 20);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes" },
    h("table", null, h("thead", null, h("tr", null, ["change at", "noticed at", "probability", "taken back"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, rows.map((each) => h("tr", null, [each.number, each.noticed, number(each.probability, 2), each.taken_back ?? "no"]
        .map((cell) => h("td", null, String(cell))))))));
}

function contextForm(form, head, changed) {
  const now = { ...(head.newest_context ?? {}) };
  const controls = head.context.map((each) => {
    const id = `context-${each.name}`;
    if (each.kind === "choice") {
      now[each.name] ??= each.values[0];
      const select = h("select", { id }, each.values.map((value, i) => h("option", { value: i, selected: value === now[each.name] }, String(value))));
      select.addEventListener("change", () => { now[each.name] = each.values[Number(select.value)]; changed({ ...now }); });
      return h("p", null, h("label", { for: id }, each.name, " "), select);
    }
    now[each.name] ??= each.kind === "int" ? Math.round((each.low + each.high) / 2) : (each.low + each.high) / 2;
    const figure = h("output", { for: id }, number(now[each.name]));
    const step = each.kind === "int" ? 1 : (each.high - each.low) / 200; // before the value, which is rounded to it
    const slider = h("input", { id, type: "range", min: each.low, max: each.high, step, value: now[each.name] });
    slider.addEventListener("input", () => { figure.textContent = number(Number(slider.value)); });
    slider.addEventListener("change", () => { now[each.name] = Number(slider.value); changed({ ...now }); });
    return h("p", null, h("label", { for: id }, each.name, " "), slider, " ", figure);
  });
  show(form, h("h2", null, "In the context"), controls);
  form.hidden = false;
}
