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
  fade();
  for (const [line, chip] of chips) chip.setAttribute("aria-pressed", String(line === chosen));
};
const fade = () => {
  for (const place of all("svg, table.data")) {
    const parts = all("[data-line]", place);
    const has = chosen && parts.some(part => part.dataset.line === chosen);
    for (const part of parts) part.classList.toggle("other", Boolean(has) && part.dataset.line !== chosen);
  }
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

// Texts of numbers, as the program writes them.
const grouped = digits => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const moneyText = x => {
  const digits = x ? Math.max(2, 2 - Math.floor(Math.log10(Math.abs(x)))) : 2;
  const [whole, rest] = x.toFixed(Math.min(digits, 100)).split(".");
  return grouped(whole) + "." + rest;
};
const significant = x => Math.abs(x) < 0.005 ? 0 : Number(x.toPrecision(3));
const scaledText = (x, names) => {
  let i = 0;
  for (x = significant(x); x >= 1000 && i + 1 < names.length; i++) x = significant(x / 1000);
  return x + names[i];
};
const sizeText = (n, digits) => {
  let i = 0;
  for (; n >= 1024 && i < 6; i++) n /= 1024;
  return Number(n.toPrecision(digits)) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][i];
};
const shareText = x => Number((Math.floor(1000 * x + 0.5 + 1e-9) / 10).toFixed(1)) + "%";

// Round numbers between two others, about n of them.
const ticksBetween = (low, high, n) => {
  const rough = (high - low) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(k => k * power >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-9); k++) ticks.push(k * step);
  return ticks;
};

// What a cache costs at prices that the reader changes, and at a capacity that the reader chooses. A cost is the sum of
// prices times what a capacity uses, as in the program. The fragment of the address keeps the reader's values.
const calculator = (place, number) => {
  const data = JSON.parse(place.dataset.costs);
  const given = new URLSearchParams(location.hash.startsWith("#cost?") ? location.hash.slice(6) : "");
  const nouns = data.blocks ? "blocks of prompts" : "requests";
  const amount = x => moneyText(x) + (data.currency ? " " + data.currency : "");
  const inputs = new Map();
  const addInput = (parent, name, label, value) => {
    const input = make("input", { type: "number", min: "0", step: "any", defaultValue: value, name });
    if (given.has(name)) input.value = given.get(name);
    inputs.set(name, input);
    parent.append(make("label", {}, label + " ", input));
    input.addEventListener("input", () => update());
  };
  const value = name => { const x = inputs.get(name).valueAsNumber; return x >= 0 && isFinite(x) ? x : 0; };

  const fields = make("div", { className: "fields" });
  const unit = data.currency ? data.currency + " per " : "per ";
  for (const p of data.prices) addInput(fields, p.name, `${p.name}, ${unit}${p.per}`, p.value);
  addInput(fields, "rate", nouns + " per second", data.rate);
  const sentence = make("p", { className: "computed" });
  sentence.setAttribute("aria-live", "polite");
  const choice = make("select", { name: "policy" });
  data.curves.forEach((curve, i) => choice.append(make("option", { value: i, textContent: curve.policy })));
  const slider = make("input", { type: "range", min: "0", step: "1", name: "capacity" });
  slider.setAttribute("aria-label", "capacity");
  const here = make("p", { className: "computed" });
  here.setAttribute("aria-live", "polite");
  const chart = make("div", {});
  place.append(make("p", { className: "soft" }, "At other prices, and at any capacity that was replayed:"), fields,
    sentence, chart,
    make("div", { className: "fields" }, make("label", {}, "policy ", choice),
      make("label", { className: "slide" }, "capacity ", slider)), here);

  let moved = given.has("capacity"); // by the reader; until then the slider is at the cheapest capacity
  if (moved) {
    const line = data.curves.findIndex(curve => curve.policy === given.get("policy"));
    choice.value = Math.max(line, 0);
    const points = data.curves[choice.value].points;
    slider.max = points.length - 1;
    slider.value = Math.max(points.findIndex(p => p.c >= Number(given.get("capacity"))), 0);
  }
  choice.addEventListener("input", () => {
    const at = Number(slider.dataset.capacity), points = data.curves[choice.value].points;
    const near = Math.max(points.findIndex(p => p.c >= at), 0);
    slider.max = points.length - 1;
    slider.value = near;
    moved = true;
    update();
  });
  slider.addEventListener("input", () => { moved = true; update(); });

  const costOf = (p, times) =>
    data.prices.reduce((sum, price, i) => sum + value(price.name) * (p.r[i] + times * p.f[i]), 0);
  const isLess = (a, b) => a.cost < b.cost * (1 - 1e-9); // by more than what rounding makes of equal costs
  const update = () => {
    const times = value("rate") / data.rate;
    const offer = (curve, p) => ({ curve, p, cost: costOf(p, times) });
    const none = offer(null, data.none);
    let cache = null;
    for (const curve of data.curves) {
      if (!curve.competes) continue;
      const own = curve.points.map(p => offer(curve, p)).reduce((a, b) => isLess(b, a) ? b : a);
      if (!cache || own.cost < cache.cost) cache = own;
    }
    const size = p => p.s ? "~" + sizeText(p.c, 3) : sizeText(p.c, 4);
    const name = o => o.curve ? `${o.curve.policy} at ${size(o.p)}` : "no cache";
    const same = (a, b) => a.curve === b.curve && a.p === b.p;
    const reaches = o => `${scaledText(times * o.p.q, ["", " k", " M", " G", " T"])} ${nouns}` +
      (o.p.b > 0 && !data.blocks ? ` and ${scaledText(times * o.p.b, [" B", " kB", " MB", " GB", " TB", " PB"])}` : "");
    const versus = (a, b, text) => {
      if (!isLess(a, b) && !isLess(b, a)) return "a tie with " + text;
      const [least, most, word] = a.cost < b.cost ? [a, b, " less than "] : [b, a, " more than "];
      const part = a.cost < b.cost ? 1 - least.cost / most.cost : most.cost / least.cost - 1;
      const much = isFinite(part) ? shareText(part) : "infinitely";
      return (much === "0%" ? "less than 0.1%" : much) + word + text;
    };
    const origin = data.blocks ? "to compute: " : "the origin gets ";
    const without = `without a cache (${amount(none.cost)})`;
    if (!cache) {
      sentence.textContent = "cheapest: unknown, because no online policy was replayed; add one with --policy";
    } else {
      const best = isLess(cache, none) ? cache : none;
      let now = null;
      if (data.today && cache.curve.today) {
        const line = data.curves[cache.curve.today[0]];
        now = offer(line, line.points[cache.curve.today[1]]);
      } else if (data.today) {
        now = none;
      }
      const compared = [];
      let reaching = origin + reaches(best) + " a month";
      if (now && same(now, best)) compared.push("as today");
      else if (now && !now.curve) compared.push(versus(best, now, "today, " + without));
      else if (now) {
        compared.push(versus(best, now, `today (${name(now)}, ${amount(now.cost)})`));
        reaching += ", today " + reaches(now);
      }
      if (!best.curve) compared.push(versus(best, cache, `the cheapest cache (${name(cache)}, ${amount(cache.cost)})`));
      else if (!now || now.curve) compared.push(versus(best, none, without));
      if (best.curve) reaching += ", without a cache " + reaches(none);
      sentence.textContent =
        `cheapest: ${amount(best.cost)} a month, ${name(best)}: ${compared.join(", ")}; ${reaching}`;
    }
    if (!moved && cache) {
      choice.value = data.curves.indexOf(cache.curve);
      slider.max = cache.curve.points.length - 1;
      slider.value = cache.curve.points.indexOf(cache.p);
    } else if (!moved) {
      slider.max = data.curves[0].points.length - 1;
    }
    const line = data.curves[choice.value], at = offer(line, line.points[slider.value]);
    slider.dataset.capacity = at.p.c;
    slider.setAttribute("aria-valuetext", name(at));
    const beside = [versus(at, none, without)];
    if (cache && !same(at, cache)) beside.unshift(versus(at, cache, "the cheapest cache"));
    here.textContent = `${name(at)}: ${amount(at.cost)} a month, ${beside.join(", ")}; ${origin}${reaches(at)} a month`;
    draw(offer, none, cache, at, name);
    sentence.hidden = [...inputs.values()].every(input => input.value === input.defaultValue);
    if (place.contains(document.activeElement)) keep();
  };

  const keep = () => {
    const values = new URLSearchParams();
    for (const [name, input] of inputs) values.set(name, input.value);
    if (moved) {
      values.set("policy", data.curves[choice.value].policy);
      values.set("capacity", slider.dataset.capacity);
    }
    history.replaceState(null, "", "#cost?" + values);
  };

  const height = 300, left = 62, margin = { right: 26, top: 20, bottom: 40 };
  const svgOf = (name, set, ...children) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, text] of Object.entries(set)) e.setAttribute(key, text);
    e.append(...children);
    return e;
  };
  const draw = (offer, none, cache, at, name) => {
    const width = Math.max(chart.clientWidth - 18, 300); // texts keep their size on small screens
    const lines = data.curves.map(curve => curve.points.map(p => offer(curve, p)));
    const costs = lines.flat().map(o => o.cost).concat(none.cost), sizes = lines.flat().map(o => o.p.c);
    const smallest = Math.min(...sizes), largest = Math.max(...sizes), most = Math.max(...costs) * 1.05 || 1;
    const span = Math.log(largest / smallest) || 1;
    const x = c => left + (width - left - margin.right) * (largest > smallest ? Math.log(c / smallest) / span : 0.5);
    const y = cost => height - margin.bottom - (height - margin.top - margin.bottom) * cost / most;
    const svg = svgOf("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const right = width - margin.right, low = height - margin.bottom;
    for (const tick of ticksBetween(0, most, 5)) {
      const text = Number(tick.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 12 });
      svg.append(svgOf("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: "var(--grid)" }),
        svgOf("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, text));
    }
    const doublings = Math.max(1, Math.ceil(Math.log2(largest / smallest) * 75 / width));
    for (let k = Math.ceil(Math.log2(smallest)); 2 ** k <= largest; k += doublings) {
      const at = x(2 ** k);
      svg.append(svgOf("line", { x1: at, x2: at, y1: low, y2: low + 5, stroke: "var(--ink)" }),
        svgOf("text", { x: at, y: low + 18, "text-anchor": "middle" }, sizeText(2 ** k, 3)));
    }
    svg.append(svgOf("path", { d: `M${left},${margin.top}V${low}H${right}`, fill: "none", stroke: "var(--ink)" }),
      svgOf("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" },
        "capacity, and its cost per month" + (data.currency ? " in " + data.currency : "")),
      svgOf("line", { class: "cursor", x1: x(at.p.c), x2: x(at.p.c), y1: margin.top, y2: low }));
    const spot = (o, text) => svgOf("circle",
      { class: "spot", cx: x(o.p.c), cy: y(o.cost), r: 5, "fill-opacity": 0 }, svgOf("title", {}, text));
    lines.forEach((line, i) => {
      const curve = data.curves[i], color = `var(${curve.color})`;
      const group = svgOf("g", { "data-line": curve.policy },
        svgOf("polyline", { points: line.map(o => `${x(o.p.c)},${y(o.cost)}`).join(" "), fill: "none", stroke: color,
          "stroke-width": 1.5, "stroke-dasharray": curve.competes ? "none" : "4 3" }));
      for (const o of line) {
        if (line.length <= 40) group.append(svgOf("circle", { cx: x(o.p.c), cy: y(o.cost), r: 2.5, fill: color }));
        group.append(spot(o, `${name(o)}: ${amount(o.cost)}`));
      }
      svg.append(group);
    });
    const without = svgOf("g", { class: "none" },
      svgOf("line", { x1: left, x2: right, y1: y(none.cost), y2: y(none.cost), stroke: "var(--bound)",
        "stroke-dasharray": "6 4" }),
      svgOf("text", { x: right, y: y(none.cost) - 5, "text-anchor": "end" }, "no cache: " + amount(none.cost)));
    svg.append(without);
    if (cache) {
      const best = isLess(cache, none) ? cache : none;
      svg.append(svgOf("circle", { class: "mark", cx: best.curve ? x(best.p.c) : left, cy: y(best.cost), r: 8 }));
    }
    const key = make("p", { className: "key" }, ...data.curves.map(curve => {
      const swatch = make("span", { className: "swatch" });
      swatch.style.background = `var(${curve.color})`;
      return make("span", {}, swatch, curve.policy + (curve.competes ? "" : " (offline)"));
    }));
    const drawing = make("div", { className: "drawing" }, svg);
    drawing.setAttribute("aria-label", "cost per month over capacity" + (number ? " " + (number + 1) : ""));
    chart.replaceChildren(key, drawing);
    interactive(drawing);
    fade();
  };
  update();
  addEventListener("resize", update);
};
all(".calculator").forEach(calculator);
if (location.hash.startsWith("#cost?")) document.getElementById("cost")?.scrollIntoView();
})();
