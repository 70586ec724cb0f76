// Tables sort and filter, points of figures show their values, and one line can be singled out. Without this script the
// page says the same: values are titles of the points and stand in the tables.
(() => {
"use strict";
const all = (query, root = document) => [...root.querySelectorAll(query)];
const make = (name, props = {}, ...children) => {
  const e = Object.assign(document.createElement(name), props);
  e.append(...children);
  return e;
};

// The number that a cell begins with, in the base unit of what it counts; NaN where there is none.
const units = {
  B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, EiB: 2 ** 60,
  k: 1e3, M: 1e6, G: 1e9, T: 1e12,
  ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400, y: 31536000,
};
const valueOf = text => {
  const found = text.replace(/,/g, "").replace(/−/g, "-").match(/([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?) ?([a-zµ]+)?/i);
  return found ? Number(found[1]) * (units[found[2]] || 1) : NaN;
};

// A value that is missing stays at the end whichever way a table is sorted.
const compare = (a, b, numeric, way) => {
  if (!numeric) return way * a.localeCompare(b, "en", { numeric: true });
  const x = valueOf(a), y = valueOf(b);
  if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
  return way * (x - y);
};

const sortable = table => {
  const body = table.tBodies[0], heads = all("thead th", table);
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      const way = before ? (before === "ascending" ? -1 : 1) : numeric ? -1 : 1;
      heads.forEach(h => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const text = row => row.cells[column] ? row.cells[column].textContent.trim() : "";
      body.append(...[...body.rows].sort((a, b) => compare(text(a), text(b), numeric, way)));
    });
  });
};

const leastFiltered = 8;
const filterable = table => {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < leastFiltered) return;
  const count = make("span", { className: "soft" });
  count.setAttribute("aria-live", "polite");
  const input = make("input", { type: "search", placeholder: "filter rows" });
  input.setAttribute("aria-label", "filter rows: " + table.caption.textContent);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? ` ${shown} of ${rows.length} rows` : "";
  });
  table.parentNode.before(make("p", { className: "filter" }, input, count));
};

for (const table of all("table.data")) {
  sortable(table);
  filterable(table);
}

// One line singled out: the others fade in every figure and table that has it.
let chosen = "";
const chips = new Map();
const single = name => {
  chosen = name === chosen ? "" : name;
  for (const place of all("svg, table.data")) {
    const parts = all("[data-line]", place);
    const has = chosen && parts.some(part => part.dataset.line === chosen);
    for (const part of parts) part.classList.toggle("other", Boolean(has) && part.dataset.line !== chosen);
  }
  for (const [line, chip] of chips) chip.setAttribute("aria-pressed", String(line === chosen));
};

const names = [...new Set(all("svg [data-line]").map(part => part.dataset.line))];
if (names.length > 1) {
  const bar = make("div", { className: "lines" }, make("span", { className: "soft" }, "single out"));
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "single out a line in figures and tables");
  for (const name of names) {
    const chip = make("button", { type: "button", textContent: name });
    chip.setAttribute("aria-pressed", "false");
    chip.addEventListener("click", () => single(name));
    chips.set(name, chip);
    bar.append(chip);
  }
  document.querySelector("main").prepend(bar);
  document.addEventListener("keydown", event => { if (event.key === "Escape" && chosen) single(chosen); });
}

for (const row of all("tr[data-line]")) {
  if (!chips.has(row.dataset.line)) continue;
  row.classList.add("pick");
  row.addEventListener("click", () => { if (!String(getSelection())) single(row.dataset.line); });
}

// The value of the point that is nearest to the mouse, or that the arrow keys have reached.
const tip = make("div", { className: "tip", hidden: true });
tip.setAttribute("role", "status");
document.body.append(tip);
const reach = 24; // pixels from which a point is found

const interactive = drawing => {
  const svg = drawing.querySelector("svg");
  const spots = all("circle.spot", drawing).map(circle => {
    const title = circle.querySelector("title"), group = circle.closest("[data-line]");
    const spot = { circle, text: title.textContent, line: group ? group.dataset.line : "" };
    title.remove(); // or the browser would show it too
    return spot;
  });
  for (const text of all("text", svg)) {
    const name = text.textContent.replace(/ \((offline|bound)\)$/, "");
    if (!chips.has(name)) continue;
    text.classList.add("pick");
    text.addEventListener("click", event => { event.stopPropagation(); single(name); });
  }
  if (spots.length === 0) return;
  const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  ring.setAttribute("class", "ring");
  ring.setAttribute("r", "4.5");
  let shown = null;
  const place = spot => {
    const m = spots[0].circle.getScreenCTM();
    const x = spot.circle.cx.baseVal.value, y = spot.circle.cy.baseVal.value;
    return [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f];
  };
  const hide = () => { shown = null; tip.hidden = true; ring.remove(); };
  const show = spot => {
    if (spot === shown) return;
    shown = spot;
    tip.textContent = spot.text;
    tip.hidden = false;
    const [x, y] = place(spot);
    const left = Math.min(Math.max(x - tip.offsetWidth / 2, 4), document.documentElement.clientWidth - tip.offsetWidth - 4);
    tip.style.left = left + scrollX + "px";
    tip.style.top = (y - tip.offsetHeight - 12 > 0 ? y - tip.offsetHeight - 12 : y + 14) + scrollY + "px";
    ring.setAttribute("cx", spot.circle.getAttribute("cx"));
    ring.setAttribute("cy", spot.circle.getAttribute("cy"));
    spot.circle.parentNode.append(ring);
  };
  const near = event => {
    let best = null, least = reach * reach;
    for (const spot of spots) {
      if (chosen && spot.circle.closest(".other")) continue;
      const [x, y] = place(spot), d = (x - event.clientX) ** 2 + (y - event.clientY) ** 2;
      if (d < least) [best, least] = [spot, d];
    }
    return best;
  };
  svg.addEventListener("pointermove", event => { const spot = near(event); spot ? show(spot) : hide(); });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("click", event => { const spot = near(event); if (spot && chips.has(spot.line)) single(spot.line); });
  drawing.tabIndex = 0;
  drawing.setAttribute("role", "group");
  drawing.setAttribute("aria-description", "The arrow keys show the values of its points, Enter singles out a line.");
  drawing.addEventListener("blur", hide);
  const lines = [...new Set(spots.map(spot => spot.line))];
  drawing.addEventListener("keydown", event => {
    const at = shown ? spots.indexOf(shown) : -1, line = shown ? lines.indexOf(shown.line) : 0;
    const ofLine = i => spots.filter(spot => spot.line === lines[(i + lines.length) % lines.length]);
    const own = ofLine(line), i = own.indexOf(shown);
    const to = {
      ArrowRight: () => own[Math.min(i + 1, own.length - 1)], ArrowLeft: () => own[Math.max(i - 1, 0)],
      ArrowDown: () => { const next = ofLine(at < 0 ? 0 : line + 1); return next[Math.min(Math.max(i, 0), next.length - 1)]; },
      ArrowUp: () => { const next = ofLine(line - 1); return next[Math.min(Math.max(i, 0), next.length - 1)]; },
      Home: () => own[0], End: () => own[own.length - 1],
    }[event.key];
    if (to) {
      event.preventDefault();
      show(to());
    } else if (event.key === "Enter" && shown && chips.has(shown.line)) {
      single(shown.line);
    } else if (event.key === "Escape") {
      hide();
    }
  });
};
all(".drawing").forEach(interactive);
})();
