// Elements without markup: text is always text, so that nothing a user typed is ever interpreted.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

export const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export function show(target, ...children) {
  target.replaceChildren(...children.flat(Infinity).filter((each) => each !== null && each !== undefined));
}

// Numbers as people read them: 4 significant digits, and no exponent where none is needed.
export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
}

export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

export const percent = (value) => `${Math.round(100 * value)}%`;

export function setting(params) {
  return Object.entries(params ?? {}).map(([name, value]) => `${name} = ${number(value)}`).join(", ");
}

export const plusMinus = (mean, std) => `${number(mean)} ± ${number(std, 2)}`;

export function section(title, ...children) {
  const id = `s-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), ...children);
}
