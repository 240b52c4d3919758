// Charts as SVG. Colours come from the style sheet, so that light and dark need no second drawing.

import { h, number, s } from "./dom.js";

const NARROW = 460; // of charts that stand side by side, and of all on a phone: letters stay legible
const WIDE = matchMedia("(max-width: 40rem)").matches ? NARROW : 720;
const LEFT = 58;
const BOTTOM = 30;
const TOP = 10;
const RIGHT = 12;

function ticks(low, high, about) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) {
    found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  }
  return found;
}

function scale(low, high, from, to, log = false) {
  const f = log ? Math.log : (value) => value;
  const [a, b] = [f(low), f(high)];
  const made = (value) => (b === a ? (from + to) / 2 : from + ((f(value) - a) / (b - a)) * (to - from));
  made.ticks = log
    ? [low, Number(Math.exp((Math.log(low) + Math.log(high)) / 2).toPrecision(2)), high]
    : ticks(low, high, 5);
  made.low = low;
  made.high = high;
  return made;
}

function range(values) {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  if (!known.length) return [0, 1];
  let low = known[0];
  let high = known[0];
  for (const value of known) { low = Math.min(low, value); high = Math.max(high, value); }
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  return [low - pad, high + pad];
}

function axes(x, y, height, labels, width = WIDE) {
  const base = height - BOTTOM;
  return s("g", { class: "axes", "aria-hidden": "true" },
    y.ticks.map((value) => [
      s("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value, 3)),
    ]),
    x.ticks.map((value) => s("text", {
      x: x(value), y: base + 16, "text-anchor": x(value) > width - RIGHT - 20 ? "end" : "middle",
    }, number(value, 4))),
    s("text", { x: width - RIGHT, y: height - 2, "text-anchor": "end", class: "label" }, labels.x ?? ""),
    s("text", { x: LEFT, y: TOP - 1, class: "label" }, labels.y ?? ""));
}

function frame([width, height], title, description, ...children) {
  return h("figure", null,
    s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${description}` }, ...children));
}

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

export function spark(rows, title) {
  const known = rows.filter(([, value]) => value !== null);
  if (known.length < 2) return h("span", { class: "spark muted" }, "–");
  const x = scale(rows[0][0], rows[rows.length - 1][0], 1, 139);
  const [low, high] = range(known.map(([, value]) => value));
  const y = scale(low, high, 35, 1);
  return s("svg", { class: "spark", viewBox: "0 0 140 36", preserveAspectRatio: "none", role: "img", "aria-label": title },
    s("path", { class: "line", d: path(known.map(([n, value]) => [x(n), y(value)])) }));
}

// Rewards over their numbers: dots, failures at the bottom, changes as lines.
export function rewards(data, changes, quantity) {
  const height = 260;
  const rows = data.rows;
  if (!rows.length) return h("p", { class: "muted" }, "No rewards yet.");
  const x = scale(data.first, Math.max(data.last, data.first + 1), LEFT, WIDE - RIGHT);
  const [low, high] = range(rows.map((row) => row[2]));
  const y = scale(low, high, height - BOTTOM, TOP + 6);
  const told = rows.filter((row) => row[2] !== null);
  const failed = rows.filter((row) => row[3]);
  const odd = told.filter((row) => row[4]);
  const here = changes.filter((each) => each.number >= data.first && each.number <= data.last);
  const words = `${told.length} ${quantity}s shown, ${failed.length} failures, ${here.length} changes of the world`;
  return frame([WIDE, height], `The ${quantity} over time`, words,
    axes(x, y, height, { x: "number of the observation", y: quantity }),
    here.map((each) => s("g", { class: each.taken_back === null ? "change" : "change taken-back" },
      s("line", { x1: x(each.number), x2: x(each.number), y1: TOP, y2: height - BOTTOM }),
      s("title", null, `change at ${each.number}${each.noticed === null ? "" : `, noticed at ${each.noticed}`}, probability ${number(each.probability, 2)}`))),
    s("g", { class: "dots" }, told.filter((row) => !row[4]).map((row) =>
      s("circle", { cx: x(row[0]).toFixed(1), cy: y(row[2]).toFixed(1), r: 2.4 },
        rows.length <= 300 ? s("title", null, `${row[0]}: ${number(row[2])}`) : null))),
    s("g", { class: "odd" }, odd.map((row) => s("circle", { cx: x(row[0]), cy: y(row[2]), r: 4 },
      s("title", null, `${row[0]}: ${number(row[2])}, ignored as an outlier`)))),
    s("g", { class: "failed" }, failed.map((row) => cross(x(row[0]), height - BOTTOM - 5))));
}

const cross = (x, y) => s("path", { d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6` });

// The posterior along a number: mean, two standard deviations, what was seen.
export function curve(slice, quantity) {
  const height = 220;
  const band = slice.mean.flatMap((mean, i) => [mean - 2 * slice.std[i], mean + 2 * slice.std[i]]);
  const [low, high] = range([...band, ...slice.seen.map(([, reward]) => reward)]);
  const values = slice.values;
  const x = scale(values[0], values[values.length - 1], LEFT, NARROW - RIGHT, slice.log);
  const y = scale(low, high, height - BOTTOM, TOP + 6);
  const upper = values.map((value, i) => [x(value), y(slice.mean[i] + 2 * slice.std[i])]);
  const lower = values.map((value, i) => [x(value), y(slice.mean[i] - 2 * slice.std[i])]).reverse();
  const inside = ([value]) => value >= values[0] && value <= values[values.length - 1];
  return frame([NARROW, height], `Belief along ${slice.name}`, `best at ${number(slice.best)}`,
    axes(x, y, height, { x: slice.name, y: quantity }, NARROW),
    s("path", { class: "band", d: `${path([...upper, ...lower])}Z` }),
    s("path", { class: "line", d: path(values.map((value, i) => [x(value), y(slice.mean[i])])) }),
    s("g", { class: "dots" }, slice.seen.filter(inside).map(([value, reward]) =>
      s("circle", { cx: x(value).toFixed(1), cy: y(reward).toFixed(1), r: 2.2 }))),
    s("g", { class: "failed" }, slice.failed.map((value) => cross(x(value), height - BOTTOM - 5))),
    s("line", { class: "best", x1: x(slice.best), x2: x(slice.best), y1: TOP, y2: height - BOTTOM }));
}

// The posterior of a choice: a line with an interval for each value, best first.
export function choices(slice, quantity) {
  const shown = slice.values.slice(0, 20);
  const height = 24 * shown.length + TOP + BOTTOM + 6;
  const [low, high] = range(shown.flatMap((_, i) => [slice.mean[i] - 2 * slice.std[i], slice.mean[i] + 2 * slice.std[i]]));
  const x = scale(low, high, LEFT + 70, NARROW - RIGHT);
  return frame([NARROW, height], `Belief by ${slice.name}`, `best is ${slice.best}`,
    s("g", { class: "axes", "aria-hidden": "true" },
      x.ticks.map((value) => [
        s("line", { class: "rule", x1: x(value), x2: x(value), y1: TOP, y2: height - BOTTOM }),
        s("text", { x: x(value), y: height - BOTTOM + 16, "text-anchor": "middle" }, number(value, 3)),
      ]),
      s("text", { x: NARROW - RIGHT, y: height - 2, "text-anchor": "end", class: "label" }, quantity)),
    shown.map((value, i) => {
      const at = TOP + 18 + 24 * i;
      const name = String(value);
      return s("g", { class: value === slice.best ? "choice chosen" : "choice" },
        s("text", { x: LEFT + 62, y: at + 4, "text-anchor": "end" }, name.length > 16 ? `${name.slice(0, 15)}…` : name),
        s("line", { x1: x(slice.mean[i] - 2 * slice.std[i]), x2: x(slice.mean[i] + 2 * slice.std[i]), y1: at, y2: at }),
        s("circle", { cx: x(slice.mean[i]), cy: at, r: 4 }));
    }));
}

// Mean over two parameters as a grid of cells, and where it asked.
export function map(data, quantity) {
  const height = 400;
  const top = TOP + 8; // room for the name of the axis
  const [columns, lines] = [data.columns, data.lines];
  const wide = (WIDE - RIGHT - LEFT) / columns.length;
  const tall = (height - BOTTOM - top) / lines.length;
  const flat = data.mean.flat();
  const [low, high] = [Math.min(...flat), Math.max(...flat)];
  const shade = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const place = (values, value) => {
    if (typeof value !== "number") return values.indexOf(value);
    let best = 0;
    values.forEach((each, i) => { if (Math.abs(each - value) < Math.abs(values[best] - value)) best = i; });
    return best;
  };
  const cx = (value) => LEFT + wide * (place(columns, value) + 0.5);
  const cy = (value) => height - BOTTOM - tall * (place(lines, value) + 0.5);
  const some = (values) => values.map((value, i) => [value, i]).filter((_, i) => i % Math.ceil(values.length / 6) === 0);
  return frame([WIDE, height], `Expected ${quantity} over ${data.across} and ${data.up}`,
    `best at ${number(data.best[0])} and ${number(data.best[1])}`,
    data.mean.map((row, j) => row.map((value, i) => s("rect", {
      class: "cell", "shape-rendering": "crispEdges", x: (LEFT + wide * i).toFixed(3), y: (height - BOTTOM - tall * (j + 1)).toFixed(3),
      width: wide.toFixed(3), height: tall.toFixed(3), "fill-opacity": shade(value).toFixed(3),
    }, s("title", null, `${number(columns[i])}, ${number(lines[j])}: ${plus(value, data.std[j][i])}`)))),
    s("g", { class: "dots hollow" }, data.asked.filter((each) => !each[2]).map(([a, b]) => s("circle", { cx: cx(a), cy: cy(b), r: 2.4 }))),
    s("g", { class: "failed" }, data.asked.filter((each) => each[2]).map(([a, b]) => cross(cx(a), cy(b)))),
    s("circle", { class: "best-point", cx: cx(data.best[0]), cy: cy(data.best[1]), r: 7 }),
    s("g", { class: "axes", "aria-hidden": "true" },
      some(columns).map(([value, i]) => s("text", { x: LEFT + wide * (i + 0.5), y: height - BOTTOM + 16, "text-anchor": "middle" }, number(value, 3))),
      some(lines).map(([value, j]) => s("text", { x: LEFT - 6, y: height - BOTTOM - tall * (j + 0.5) + 4, "text-anchor": "end" }, number(value, 3))),
      s("text", { x: WIDE - RIGHT, y: height - 2, "text-anchor": "end", class: "label" }, data.across),
      s("text", { x: LEFT, y: TOP - 1, class: "label" }, data.up)));
}

const plus = (mean, std) => `${number(mean)} ± ${number(std, 2)}`;

// A line over numbers, as the rate of drift.
export function line(rows, labels, marks = []) {
  const height = 150;
  if (rows.length < 2) return h("p", { class: "muted" }, "Not enough observations yet.");
  const x = scale(rows[0][0], rows[rows.length - 1][0], LEFT, WIDE - RIGHT);
  const [, high] = range(rows.map(([, value]) => value));
  const y = scale(0, high, height - BOTTOM, TOP + 6);
  return frame([WIDE, height], labels.y, `from ${number(rows[0][1])} to ${number(rows[rows.length - 1][1])}`,
    axes(x, y, height, labels),
    s("path", { class: "line", d: path(rows.map(([n, value]) => [x(n), y(value)])) }),
    s("g", { class: "odd" }, marks.map(([n, value]) => s("circle", { cx: x(n), cy: y(value), r: 4 }))));
}

// Shares as bars with their figures: a table that is also a picture.
export function bars(shares) {
  return h("table", { class: "bars" }, h("tbody", null, Object.entries(shares).map(([name, share]) =>
    h("tr", null, h("th", { scope: "row" }, name),
      h("td", null, h("meter", { min: 0, max: 1, value: Math.max(0, Math.min(1, share)), "aria-label": name })),
      h("td", { class: "figure" }, `${Math.round(100 * share)}%`)))));
}
