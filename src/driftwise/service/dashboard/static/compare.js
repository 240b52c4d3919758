// Two spans of the log side by side.

import { get, of } from "./api.js";
import { h, number, percent, show } from "./dom.js";

export function compare(target, name, quantity, last) {
  const half = Math.max(1, Math.floor(last() / 2));
  const field = (label, value) => h("input", { type: "number", min: 1, value, "aria-label": label, required: true });
  const fields = [field("First span from", 1), field("First span to", half), field("Second span from", Math.min(half + 1, Math.max(last(), 1))), field("Second span to", Math.max(last(), 1))];
  const found = h("div", null);
  const form = h("form", { class: "tools" }, fields[0], " to ", fields[1], " with ", fields[2], " to ", fields[3], " ", h("button", { type: "submit" }, "Compare"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [a, b, c, d] = fields.map((each) => each.value);
    try {
      show(found, table(await get(of(name, "compare"), { one: `${a}-${b}`, other: `${c}-${d}` }), quantity));
    } catch (error) {
      show(found, h("p", { role: "alert", class: "problem" }, error.message));
    }
  });
  show(target, form, found);
}

function table(data, quantity) {
  const where = (asked) => (asked === undefined ? "–" : asked.quartiles
    ? `${number(asked.quartiles[1])} (${number(asked.quartiles[0])} to ${number(asked.quartiles[2])})`
    : asked.shares.map(([value, share]) => `${value} ${percent(share)}`).join(", "));
  const names = Object.keys(data.spans[0].asked).length ? Object.keys(data.spans[0].asked) : Object.keys(data.spans[1].asked);
  const rows = [
    ["observations read", ...data.spans.map((span) => String(span.read))],
    [`mean ${quantity}`, ...data.spans.map((span) => number(span.mean))],
    ["standard deviation", ...data.spans.map((span) => number(span.std, 3))],
    ["failures", ...data.spans.map((span) => String(span.failed))],
    ...names.map((each) => [`${each}: median and quartiles`, ...data.spans.map((span) => where(span.asked[each]))]),
  ];
  const gap = data.difference;
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison" },
      h("table", null, h("thead", null, h("tr", null, h("td", null), data.spans.map((span) => h("th", { scope: "col" }, `${span.first} to ${span.last}`)))),
        h("tbody", null, rows.map(([head, ...cells]) => h("tr", null, h("th", { scope: "row" }, head), cells.map((cell) => h("td", null, cell))))))),
    h("p", null, gap === null
      ? "A difference needs two rewards in each span."
      : `The second mean is ${number(Math.abs(gap.mean))} ${gap.mean < 0 ? "lower" : "higher"}; 95% interval of the difference ${number(gap.low)} to ${number(gap.high)}.`),
  ];
}
