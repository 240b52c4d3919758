// All studies at a glance: what to run now, how sure that is, whether the world changed.

import { follow, get } from "./api.js";
import { spark } from "./chart.js";
import { counted, h, plusMinus, setting, show } from "./dom.js";

export async function glance(target) {
  let offset = 0;
  let filter = "";
  const list = h("div", { class: "cards" });
  const pages = h("p", { class: "pages" });
  const search = h("input", { type: "search", id: "filter", placeholder: "name", autocomplete: "off" });
  search.addEventListener("input", () => { filter = search.value; offset = 0; load(); });
  show(target, h("h1", null, "Studies"), h("p", { class: "filter" }, h("label", { for: "filter" }, "Filter "), search), list, pages);

  async function load() {
    const data = await get("dashboard/studies", { offset, contains: filter || null });
    show(list, data.studies.length ? data.studies.map(card) : h("p", { class: "muted" }, filter
      ? "No study has this in its name."
      : "There is no study yet. Create one with driftwise study create, with the API, or from Python."));
    const last = offset + data.studies.length;
    const turn = (text, to) => h("button", { type: "button", onclick: () => { offset = to; load(); } }, text);
    show(pages, data.total > data.size ? [
      offset > 0 ? turn("Previous", Math.max(offset - data.size, 0)) : null,
      h("span", null, ` ${offset + 1} to ${last} of ${data.total} `),
      last < data.total ? turn("Next", last) : null,
    ] : []);
  }

  await load();
  return follow(null, load, 2000);
}

function card(study) {
  const recommended = study.recommended;
  const change = study.drift?.change?.probability > 0.5 ? study.drift.change : null;
  return h("article", { class: "card" },
    h("h2", null, h("a", { href: `#/study/${encodeURIComponent(study.name)}` }, study.name)),
    recommended
      ? h("p", { class: "run" }, "Run ", h("strong", null, setting(recommended.params)), `: ${plusMinus(recommended.mean, recommended.std)}`,
        recommended.sure ? null : h("span", { class: "badge doubt" }, "not sure"))
      : h("p", { class: "muted" }, study.why_not ?? "Nothing is known yet."),
    spark(study.spark, `The last ${study.spark.length} rewards of ${study.name}`),
    h("p", { class: "facts" },
      h("span", null, counted(study.counts.rewards, "reward")),
      study.counts.failed ? h("span", null, counted(study.counts.failed, "failure")) : null,
      study.counts.awaited ? h("span", null, `${study.counts.awaited} awaited`) : null,
      study.drift ? h("span", null, study.drift.says[0]) : null,
      change ? h("span", { class: study.drift.alarm ? "badge alarm" : "badge" }, `changed at ${change.number}`) : null,
      h("span", { class: "muted" }, `${study.policy}, ${study.direction}`)));
}
