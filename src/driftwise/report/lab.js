(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const cases = data.suites.flatMap(s => s.cases.map(c => ({ ...c, suite: s.name })));
  const $ = id => document.getElementById(id);
  const FEW = 8, DASH = ["", "7 3", "2 2.5", "8 3 2 3"];
  const colour = p => `var(--series-${p % 6})`, dash = p => DASH[Math.floor(p / 6) % DASH.length];
  const number = v => v == null ? "" : v !== 0 && (Math.abs(v) < 0.01 || Math.abs(v) >= 1e5) ? v.toExponential(1)
    : v.toLocaleString("en", { maximumSignificantDigits: Math.abs(v) >= 1000 ? 4 : 3 });
  const seconds = s => s == null ? "" : s < 1e-3 ? `${(s * 1e6).toFixed(0)} µs` : s < 1 ? `${(s * 1e3).toFixed(1)} ms` : `${s.toFixed(1)} s`;
  const safe = s => s.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  let chosen = 0, hidden = new Set(), touched = false;

  // until a reader chooses, every case shows its own best
  const shown = c => touched ? c.lines.filter(l => !hidden.has(l.p)) : c.lines.slice(0, FEW);
  const path = (c, ys, x, y) => ys.map((v, i) => `${i ? "L" : "M"}${x(c.steps[i]).toFixed(1)} ${y(v * c.unit).toFixed(1)}`).join("");
  const band = (c, l, x, y) => path(c, l.high, x, y) + [...c.steps.keys()].reverse()
    .map(i => `L${x(c.steps[i]).toFixed(1)} ${y(l.low[i] * c.unit).toFixed(1)}`).join("") + "Z";
  const ticks = top => { const raw = top / 5, p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(m => m * p >= raw) * p;
    return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step); };
  const scale = (c, lines, w, h, m) => { const top = Math.max(...lines.map(l => Math.max(...l.high))) * c.unit * 1.04 || 1;
    return { top, x: t => m.l + (w - m.l - m.r) * t / c.T, y: v => h - m.b - (h - m.b - m.t) * v / top }; };

  function mini(c) {
    const w = 180, h = 78, lines = shown(c), { x, y } = scale(c, lines.length ? lines : c.lines, w, h, { l: 0, r: 0, t: 3, b: 3 });
    return `<svg viewBox="0 0 ${w} ${h}" aria-hidden="true">` + c.changes.map(t => `<line class="change" x1="${x(t)}" x2="${x(t)}" y1="0" y2="${h}"/>`).join("")
      + lines.map(l => `<path d="${path(c, l.mean, x, y)}" fill="none" stroke="${colour(l.p)}" stroke-dasharray="${dash(l.p)}" stroke-width="1.6"/>`).join("") + "</svg>";
  }
  const W = 960, H = 420, M = { l: 58, r: 190, t: 14, b: 38 };
  function apart(labels, least) { labels.sort((a, b) => a.y - b.y);
    for (let k = 0; k < 60; k++) for (let i = 1; i < labels.length; i++) { const gap = labels[i].y - labels[i - 1].y;
      if (gap < least) { labels[i].y += (least - gap) / 2; labels[i - 1].y -= (least - gap) / 2; } } return labels; }
  function big() {
    const c = cases[chosen], lines = shown(c), { top, x, y } = scale(c, lines.length ? lines : c.lines, W, H, M);
    const grid = ticks(top).map(v => `<line class="grid" x1="${M.l}" x2="${W - M.r}" y1="${y(v)}" y2="${y(v)}"/><text x="${M.l - 8}" y="${y(v) + 4}" text-anchor="end">${number(v)}</text>`).join("");
    const along = ticks(c.T).map(t => `<text x="${x(t)}" y="${H - M.b + 18}" text-anchor="middle">${number(t)}</text>`).join("");
    const ends = apart(lines.map(l => ({ l, y: y(l.mean[l.mean.length - 1] * c.unit) })), 14);
    $("chart").innerHTML = `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="cumulative regret, ${safe(c.suite)}/${safe(c.name)}">${grid}${along}
      <text x="${M.l}" y="${H - 4}">step t</text>` + c.changes.map(t => `<line class="change" x1="${x(t)}" x2="${x(t)}" y1="${M.t}" y2="${H - M.b}"/>`).join("")
      + lines.map(l => `<path d="${band(c, l, x, y)}" fill="${colour(l.p)}" opacity="${lines.length > 5 ? 0.09 : 0.14}"/>`).join("")
      + lines.map(l => `<path d="${path(c, l.mean, x, y)}" fill="none" stroke="${colour(l.p)}" stroke-dasharray="${dash(l.p)}" stroke-width="2"/>`).join("")
      + ends.map(e => `<text class="name" x="${W - M.r + 8}" y="${e.y + 4}" style="fill:${colour(e.l.p)}">${safe(clip(data.policies[e.l.p], 28))}</text>`).join("")
      + `<line id="cross" class="grid" y1="${M.t}" y2="${H - M.b}" visibility="hidden"/></svg>`;
    const svg = $("chart").firstChild, tip = $("tip");
    svg.onpointermove = e => { const box = svg.getBoundingClientRect(), t = ((e.clientX - box.left) / box.width * W - M.l) / (W - M.l - M.r) * c.T;
      if (t < 0 || t > c.T * 1.02) { svg.onpointerleave(); return; }
      let i = 0; c.steps.forEach((s, k) => { if (Math.abs(s - t) < Math.abs(c.steps[i] - t)) i = k; });
      const at = x(c.steps[i]); $("cross").setAttribute("x1", at); $("cross").setAttribute("x2", at); $("cross").setAttribute("visibility", "visible");
      tip.innerHTML = `t = ${number(c.steps[i])}<br>` + [...lines].sort((a, b) => a.mean[i] - b.mean[i]).map(l =>
        `<span style="color:${colour(l.p)}"><b>${number(l.mean[i] * c.unit)}</b>${safe(data.policies[l.p])}</span>`).join("<br>");
      tip.style.display = "block"; const left = (e.clientX - box.left) + 16;
      tip.style.left = `${left + tip.offsetWidth > box.width ? left - tip.offsetWidth - 32 : left}px`; tip.style.top = "12px"; };
    svg.onpointerleave = () => { tip.style.display = "none"; $("cross").setAttribute("visibility", "hidden"); };
  }
  const clip = (s, n) => s.length > n ? s.slice(0, n - 1) + "…" : s;

  function table() {
    const c = cases[chosen], known = c.P == null ? "" : `, P_T = ${number(c.P)}`;
    $("about").textContent = `${c.suite}/${c.name}: T = ${c.T.toLocaleString("en")}, ${c.seeds} seed${c.seeds > 1 ? "s" : ""}${known}. ★ least mean regret, ○ not significantly worse.`;
    $("lines").innerHTML = c.lines.map(l => `<tr${l.mark == 2 ? " class=best" : ""}><th scope="row" data-v="${safe(data.policies[l.p])}">${["&emsp;", "○ ", "★ "][l.mark]}${safe(data.policies[l.p])}</th>`
      + [[l.R, number(l.R)], [l.low_R, l.low_R == null ? "none" : `${number(l.low_R)} – ${number(l.high_R)}`], [l.pv, l.mark == 2 ? "" : l.pv < 0.001 ? "< 0.001" : l.pv.toFixed(3)], [l.R / c.T, number(l.R / c.T)],
        [l.within, `${Math.round(l.within * 100)}%`], [l.back == null ? -1 : l.back, l.back == null ? "" : l.back < 0 ? "never" : l.back], [l.slope, l.slope == null ? "" : l.slope.toFixed(2)], [l.sec, seconds(l.sec)]]
        .map(([v, s]) => `<td data-v="${v}">${s}</td>`).join("") + "</tr>").join("");
    const file = $("files"); if (file) file.innerHTML = c.file ? ["png", "svg"].map(k => `<a href="${safe(data.folder)}/${safe(c.file)}.${k}">${k.toUpperCase()}</a>`).join(" · ") : "";
  }
  function chips() {
    const here = new Set(cases[chosen].lines.map(l => l.p));
    $("chips").innerHTML = data.policies.map((name, p) => here.has(p) ? `<button class="chip" data-p="${p}" aria-pressed="${!hidden.has(p)}"><svg viewBox="0 0 24 8"><line x1="0" x2="24" y1="4" y2="4" stroke="${colour(p)}" stroke-width="3" stroke-dasharray="${dash(p)}"/></svg>${safe(name)}</button>` : "").join("");
  }
  const seen = new Set();
  const redraw = k => { const b = $("minis").children[k]; if (b && seen.has(k)) b.lastElementChild.outerHTML = mini(cases[k]); };
  function choose(k, scroll) {
    chosen = k;
    if (!touched) hidden = new Set(cases[k].lines.slice(FEW).map(l => l.p));
    $("pick").value = k;
    [...$("minis").children].forEach((b, i) => b.classList.toggle("chosen", i == k));
    document.querySelectorAll("tr[data-case]").forEach(r => r.classList.toggle("chosen", r.dataset.case == k));
    chips(); big(); table();
    if (scroll) $("cases").scrollIntoView({ behavior: "smooth" });
  }
  $("pick").innerHTML = data.suites.map(s => `<optgroup label="${safe(s.name)}">` + cases.map((c, k) => c.suite == s.name ? `<option value="${k}">${safe(c.suite)}/${safe(c.name)}, T = ${c.T}</option>` : "").join("") + "</optgroup>").join("");
  $("minis").innerHTML = cases.map((c, k) => `<button class="mini" data-k="${k}"><b>${safe(c.name)}</b><small>${safe(c.suite)}, T = ${number(c.T)} · ★ ${safe(data.policies[c.lines[0].p])}</small><svg viewBox="0 0 180 78"></svg></button>`).join("");
  // a few at a time, so that the page answers while it is drawn
  const draw = k => { for (let end = Math.min(k + 10, cases.length); k < end; k++) { seen.add(k); redraw(k); } if (k < cases.length) setTimeout(draw, 0, k); };
  $("pick").onchange = e => choose(+e.target.value);
  $("minis").onclick = e => { const b = e.target.closest(".mini"); if (b) choose(+b.dataset.k, true); };
  $("chips").onclick = e => { const b = e.target.closest(".chip"); if (!b) return; const p = +b.dataset.p; touched = true; hidden.has(p) ? hidden.delete(p) : hidden.add(p); chips(); big(); seen.forEach(redraw); };
  document.addEventListener("click", e => { const r = e.target.closest("[data-case]"); if (r) choose(+r.dataset.case, true);
    const th = e.target.closest(".sortable thead th"); if (!th) return; const tbl = th.closest("table"), i = [...th.parentNode.children].indexOf(th), up = th.getAttribute("aria-sort") != "ascending";
    [...th.parentNode.children].forEach(o => o.removeAttribute("aria-sort")); th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = r => { const cell = r.children[i], v = cell.dataset.v ?? cell.textContent; return v === "" || isNaN(v) ? (v === "NaN" || v === "undefined" || v === "null" ? Infinity : v) : +v; };
    const body = tbl.tBodies[0]; [...body.rows].sort((a, b) => { const u = value(a), v = value(b); return (u < v ? -1 : u > v ? 1 : 0) * (up ? 1 : -1); }).forEach(r => body.append(r)); });
  choose(0);
  draw(0);
})();
