// The picture: boxes opened and closed, edges between whatever is shown, and the reasons of what is chosen.

const data = JSON.parse(document.getElementById("data").textContent);
const {items, groups, edges} = data;
const $ = selector => document.querySelector(selector);
const svg = $("svg"), view = $(".view"), panel = $("aside"), find = $(".find input"), found = $(".find ul");
const NS = "http://www.w3.org/2000/svg";

const groupAt = new Map(groups.map((g, i) => [g.id, i]));
const itemAt = new Map(items.map((n, i) => [n.id, i]));
const boxAt = new Map(data.boxes.map((id, i) => [id, i]));
const bends = new Map(data.bends.map(([a, b, chain]) => [a + ">" + b, chain]));
const inGroup = groups.map(() => []);
items.forEach((n, i) => { if (groupAt.has(n.group)) { n.slot = inGroup[groupAt.get(n.group)].push(i) - 1; } });

// An end of an edge is an item (0, 1, ...) or a group (-1, -2, ...).
const thing = end => end < 0 ? groups[-1 - end] : items[end];
const homeOf = end => end < 0 ? boxAt.get(groups[-1 - end].id) : boxAt.get(groupAt.has(items[end].group) ? items[end].group : items[end].id);
edges.forEach(e => { e.a = homeOf(e.s); e.b = homeOf(e.t); });
const out = new Map(), into = new Map();
edges.forEach((e, i) => {
  (out.get(e.s) || out.set(e.s, []).get(e.s)).push(i);
  (into.get(e.t) || into.set(e.t, []).get(e.t)).push(i);
});

const opened = new Set(data.open ? groups.filter(g => g.inside).map(g => g.id) : []);
let memory = items.length <= 300 || !groups.length;
let places, rects, chosen = null, drawnEdges = [];
let camera = {x: 0, y: 0, k: 1};

function element(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  made.append(...children);
  return made;
}
function html(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
const hue = number => Math.round((number * 137.508 + 250) % 360);

// ---- layout

const groupOfBox = box => groupAt.has(data.boxes[box]) ? groups[groupAt.get(data.boxes[box])] : null;
const isMemory = box => !groupOfBox(box) && items[itemAt.get(data.boxes[box])].kind === "memory";

function arrange() {
  const count = data.centers.length;
  const sizes = data.boxes.map((id, box) => {
    const g = groupOfBox(box);
    if (!g) { const n = items[itemAt.get(id)]; return [n.w, n.h]; }
    return opened.has(id) ? [g.inside.w, g.inside.h] : [g.w, g.h];
  });
  const weights = data.centers.map((_, n) => n >= data.boxes.length ? 0.3 : isMemory(n) ? 0.02 : 1);
  const shown = new Array(count).fill(false);
  data.boxes.forEach((_, box) => { shown[box] = memory || !isMemory(box); });
  const pairs = new Map();
  for (const e of edges) if (e.a !== e.b && e.a < e.b && shown[e.a] && shown[e.b]) pairs.set(e.a + ">" + e.b, [e.a, e.b]);
  for (const key of pairs.keys()) for (const bend of bends.get(key) || []) shown[bend] = true;
  const links = neighbours(count, [...pairs.values()], bends);
  const result = place(data.rows, data.centers, sizes, weights, shown, links, data.gaps);
  const rowOf = new Array(count);
  data.rows.forEach((row, at) => row.forEach(n => { rowOf[n] = at; }));
  rects = new Map();
  data.boxes.forEach((id, box) => {
    if (!shown[box]) return;
    const [w, h] = sizes[box], row = rowOf[box], g = groupOfBox(box);
    const rect = {x: result.centers[box] - w / 2, y: result.tops[row] + (result.heights[row] - h) / 2, w, h};
    rects.set(g ? -1 - groupAt.get(id) : itemAt.get(id), rect);
    if (g && opened.has(id)) inGroup[groupAt.get(id)].forEach((item, slot) => {
      const [cx, top] = g.inside.places[slot], n = items[item];
      rects.set(item, {x: rect.x + cx - n.w / 2, y: rect.y + top, w: n.w, h: n.h});
    });
  });
  places = {...result, rowOf};
}

/** Where an end is drawn: itself, or the closed kernel that holds it. */
function shownEnd(end) {
  if (rects.has(end)) return end;
  return end >= 0 && groupAt.has(items[end].group) ? -1 - groupAt.get(items[end].group) : null;
}

// ---- drawing

function draw() {
  arrange();
  const boxes = [];
  const members = [];
  for (const [end, rect] of rects) {
    if (end >= 0) members.push(drawItem(end, rect));
    else (opened.has(groups[-1 - end].id) ? boxes : members).push(drawGroup(end, rect));
  }
  $(".boxes").replaceChildren(...boxes);
  $(".members").replaceChildren(...members);
  drawEdges();
  mark();
}

function button(end, name, rect) {
  const t = thing(end);
  const label = end < 0 ? `kernel ${t.text}, ${t.note}` : `${t.node} ${t.text}, ${t.note}`;
  return element("g", {class: name, role: "button", tabindex: 0, "data-id": t.id, "aria-label": label, transform: `translate(${rect.x.toFixed(1)} ${rect.y.toFixed(1)})`});
}
function text(x, y, content, className) {
  const made = element("text", {x, y, class: className || ""});
  made.textContent = content;
  return made;
}

function drawGroup(end, rect) {
  const g = groups[-1 - end], open = opened.has(g.id);
  const made = button(end, "group", rect);
  made.style.setProperty("--hue", hue(g.number));
  made.append(element("rect", {width: rect.w, height: rect.h, rx: 10}));
  if (!open) {
    made.append(text(rect.w / 2, 19, g.text, "title"), text(rect.w / 2, 35, g.note, "note"));
    if (inGroup[-1 - end].length > 1) made.append(text(rect.w - 8, 14, inGroup[-1 - end].length, "note end"));
    return made;
  }
  made.setAttribute("aria-expanded", "true");
  made.append(element("rect", {class: "band", x: 1, y: 1, width: rect.w - 2, height: 22, rx: 9}));
  made.append(text(rect.w / 2, 16, g.text, "title"));
  return made;
}

function drawItem(end, rect) {
  const n = items[end], inside = groupAt.has(n.group);
  const made = button(end, `item ${n.kind}${inside ? "" : " loose"}`, rect);
  if (inside) made.style.setProperty("--hue", hue(groups[groupAt.get(n.group)].number));
  made.append(element("rect", {width: rect.w, height: rect.h, rx: n.kind === "memory" ? rect.h / 2 : 6}));
  made.append(text(rect.w / 2, 16, n.text, "title"), text(rect.w / 2, 30, n.note, "note"));
  return made;
}

function drawEdges() {
  const seen = new Map();
  edges.forEach((e, i) => {
    const s = shownEnd(e.s), t = shownEnd(e.t);
    if (s === null || t === null || s === t) return;
    const key = `${s}>${t}>${e.kind === "version" ? e.label : ""}`;
    if (seen.has(key)) seen.get(key).all.push(i); else seen.set(key, {s, t, all: [i], edge: e});
  });
  drawnEdges = [...seen.values()];
  const lines = [], backs = [], labels = [];
  drawnEdges.forEach((d, at) => {
    const {d: path, far, mid} = route(d);
    const kind = d.all.some(i => edges[i].kind === "data") ? "data" : d.edge.kind;
    d.line = element("path", {class: `edge ${kind}${far ? " far" : ""}`, d: path});
    d.back = element("path", {class: "back", d: path, "data-edge": at});
    lines.push(d.line); backs.push(d.back);
    if (far) {
      // An edge across many rows shows its two ends; all of it when it is chosen.
      const from = rects.get(d.s), to = rects.get(d.t);
      const ends = `M${from.x + from.w / 2} ${from.y + from.h}v14M${to.x + to.w / 2} ${to.y - 18}V${to.y}`;
      lines.push(element("path", {class: `edge stub ${kind}`, d: ends}));
      d.back.setAttribute("d", ends);
    }
    if (d.edge.label && !far) {
      const width = d.edge.label.length * 6.4 + 8;
      d.tag = element("g", {}, element("rect", {x: mid[0] - width / 2, y: mid[1] - 8, width, height: 15, rx: 4}), text(mid[0], mid[1] + 3, d.edge.label));
      labels.push(d.tag);
    }
  });
  $(".edges").replaceChildren(...lines);
  $(".backs").replaceChildren(...backs);
  $(".labels").replaceChildren(...labels);
}

/** The path of an edge: down from the source, through its bends, to the top of the target. */
function route(d) {
  const from = rects.get(d.s), to = rects.get(d.t);
  // An order edge keeps clear of the data edge between the same two.
  const aside = d.edge.kind === "version" ? 16 : 0;
  const points = [[from.x + from.w / 2 + aside, from.y + from.h]];
  const {a, b} = d.edge;
  const chain = a === b ? [] : bends.get(a + ">" + b) || [];
  for (const bend of chain) {
    const row = places.rowOf[bend], x = places.centers[bend];
    if (!places.heights[row]) continue;
    points.push([x, places.tops[row]], [x, places.tops[row] + places.heights[row]]);
  }
  points.push([to.x + to.w / 2 + aside, to.y]);
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i];
    const pull = Math.max(14, Math.abs(y1 - y0) / 2);
    path += x0 === x1 && y1 > y0 ? `V${y1.toFixed(1)}`
      : `C${x0.toFixed(1)} ${(y0 + pull).toFixed(1)} ${x1.toFixed(1)} ${(y1 - pull).toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
  }
  const rows = a === b ? 0 : Math.abs(places.rowOf[b] - places.rowOf[a]);
  const at = Math.floor((points.length - 1) / 2), [x0, y0] = points[at], [x1, y1] = points[at + 1];
  return {d: path, far: rows > 1 && !chain.length, mid: [(x0 + x1) / 2, (y0 + y1) / 2]};
}

// ---- camera

function look() { view.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.k})`); }

function bounds(ends) {
  let l = Infinity, t = Infinity, r = -Infinity, b = -Infinity;
  for (const end of ends) {
    const q = rects.get(end);
    l = Math.min(l, q.x); t = Math.min(t, q.y); r = Math.max(r, q.x + q.w); b = Math.max(b, q.y + q.h);
  }
  return {x: l, y: t, w: r - l, h: b - t};
}
function fit() {
  if (!rects.size) return;
  const box = bounds(rects.keys()), size = svg.getBoundingClientRect();
  const k = Math.min(1.25, (size.width - 60) / box.w, (size.height - 90) / box.h);
  // A graph that is much taller than the window is shown from its top, large enough to read.
  camera.k = Math.max(k, Math.min(0.9, (size.width - 60) / box.w), 0.12);
  camera.x = (size.width - box.w * camera.k) / 2 - box.x * camera.k;
  camera.y = k < camera.k ? 30 - box.y * camera.k : (size.height - 40 - box.h * camera.k) / 2 - box.y * camera.k;
  look();
}
function zoom(factor, x, y) {
  const size = svg.getBoundingClientRect();
  x = x === undefined ? size.width / 2 : x; y = y === undefined ? size.height / 2 : y;
  const k = Math.min(4, Math.max(0.03, camera.k * factor));
  camera.x = x - (x - camera.x) * k / camera.k;
  camera.y = y - (y - camera.y) * k / camera.k;
  camera.k = k; look();
}
function bring(end) {
  const q = rects.get(end), size = svg.getBoundingClientRect();
  const x = q.x * camera.k + camera.x, y = q.y * camera.k + camera.y, w = q.w * camera.k, h = q.h * camera.k;
  if (x > 20 && y > 20 && x + w < size.width - 20 && y + h < size.height - 50 && camera.k > 0.45) return;
  camera.k = Math.max(camera.k, 0.8);
  camera.x = size.width / 2 - (q.x + q.w / 2) * camera.k;
  camera.y = size.height / 2 - (q.y + Math.min(q.h, size.height / camera.k) / 2) * camera.k;
  look();
}

// ---- choosing

function toggle(id, anchor) {
  if (!groups[groupAt.get(id)].inside) return;
  const end = -1 - groupAt.get(id), before = rects.get(end);
  opened.has(id) ? opened.delete(id) : opened.add(id);
  draw();
  const after = rects.get(end);
  // What was clicked stays where it was.
  camera.x += (before.x + before.w / 2 - after.x - after.w / 2) * camera.k;
  camera.y += (before.y - after.y) * camera.k;
  look();
  if (anchor) focusOn(id);
}
const focusOn = id => { const g = [...svg.querySelectorAll("[data-id]")].find(g => g.dataset.id === id); if (g) g.focus({preventScroll: true}); };
const endOf = id => itemAt.has(id) ? itemAt.get(id) : -1 - groupAt.get(id);

function choose(end, still) {
  chosen = {end};
  const t = thing(end);
  if (end >= 0 && !rects.has(end)) {
    if (groupAt.has(t.group)) { opened.add(t.group); draw(); } else if (t.kind === "memory") { memory = true; syncMemory(); draw(); }
  }
  history.replaceState(null, "", "#" + encodeURIComponent(t.id));
  mark(); tell(end);
  // What was clicked stays where it is, so that a double click meets it twice.
  if (!still) bring(end);
}
function chooseEdge(at) { chosen = {edge: drawnEdges[at].all}; mark(); tellEdge(drawnEdges[at]); }
function forget() { chosen = null; history.replaceState(null, "", location.pathname + location.search); mark(); welcome(); }

function mark() {
  view.classList.toggle("faded", chosen !== null);
  svg.querySelectorAll(".on").forEach(n => n.classList.remove("on"));
  if (!chosen) return;
  const group = chosen.end < 0 ? groups[-1 - chosen.end].id : null;
  const within = end => end === chosen.end || (group !== null && end >= 0 && items[end].group === group);
  for (const d of drawnEdges) {
    const touches = chosen.edge ? d.all.some(i => chosen.edge.includes(i))
      : d.all.some(i => group !== null ? within(edges[i].s) !== within(edges[i].t) : within(edges[i].s) || within(edges[i].t));
    if (touches) { d.line.classList.add("on"); d.line.parentNode.append(d.line); if (d.tag) d.tag.classList.add("on"); }
  }
  if (chosen.end !== undefined) {
    const id = thing(chosen.end).id;
    svg.querySelectorAll("[data-id]").forEach(g => { if (g.dataset.id === id) g.classList.add("on"); });
  }
}

// ---- the panel

const KINDS = {computed: "computed where it is used", reduce: "a reduction, computed where it is used", memory: "memory", stored: "stored by its kernel"};
const isRule = ([name]) => name.includes("(");

function facts(pairs) {
  const parts = [], plain = html("dl"), rules = html("dl", undefined, "rules");
  for (const pair of pairs) (isRule(pair) ? rules : plain).append(html("dt", pair[0]), html("dd", pair[1]));
  if (plain.children.length) parts.push(plain);
  if (rules.children.length) parts.push(html("h3", "decided about it"), rules);
  return parts;
}
/** A proof as lines that wrap, indented by their depth; what follows two spaces is the rule's place and its own words. */
function proof(why) {
  if (!why) return [];
  const box = html("div", undefined, "why");
  for (const line of why.split("\n")) {
    const [, lead, rest] = line.match(/^([|` -]*)(.*)$/);
    const [head, ...tail] = rest.split(/ {2,}/), made = html("div", undefined, /^[\w-]+\/[\w-]+#\d+$/.test(head) ? "rule" : "fact");
    made.style.marginLeft = `${lead.length * 3.2}px`;
    made.append(html("b", head), ...tail.map(words => html("span", " " + words)));
    box.append(made);
  }
  return [html("h3", "why"), box];
}
function links(title, ends) {
  const unique = [...new Set(ends)];
  if (!unique.length) return [];
  const list = html("div", undefined, "links");
  for (const end of unique.slice(0, 60)) {
    const t = thing(end), made = html("button", end < 0 ? t.text : `${t.node} ${t.text}`);
    made.addEventListener("click", () => choose(end));
    list.append(made);
  }
  if (unique.length > 60) list.append(html("span", `and ${unique.length - 60} more`));
  return [html("h3", title), list];
}

function tell(end) {
  const t = thing(end);
  const head = [html("h2", end < 0 ? t.text : `${t.node} ${t.text}`)];
  head.push(html("p", end < 0 ? `kernel, ${t.note}` : `${KINDS[t.kind]}, ${t.note}`, "kind"));
  if (end < 0 && t.inside) {
    const open = html("button", opened.has(t.id) ? "Close" : `Open its ${inGroup[-1 - end].length} operations`);
    open.addEventListener("click", () => { toggle(t.id); tell(end); });
    head.push(open);
  }
  const members = end < 0 ? inGroup[-1 - end] : [];
  const own = [end, ...members];
  const sources = own.flatMap(n => (into.get(n) || []).map(i => edges[i])).filter(e => e.kind !== "version" && !own.includes(e.s));
  const users = own.flatMap(n => (out.get(n) || []).map(i => edges[i])).filter(e => e.kind !== "version" && !own.includes(e.t));
  const before = (into.get(end) || []).map(i => edges[i]).filter(e => e.kind === "version");
  const after = (out.get(end) || []).map(i => edges[i]).filter(e => e.kind === "version");
  panel.replaceChildren(
    ...head, ...facts(t.facts), ...proof(t.why), ...links("reads", sources.map(e => e.s)), ...links("read by", users.map(e => e.t)),
    ...links("must run after (same memory)", before.map(e => e.s)), ...links("must run before (same memory)", after.map(e => e.t)),
    ...links("holds", members));
  panel.scrollTop = 0;
}

function tellEdge(d) {
  const first = edges[d.all[0]];
  const name = end => end < 0 ? groups[-1 - end].id : items[end].node;
  const parts = [html("h2", `${name(d.all.length > 1 ? d.s : first.s)} → ${name(d.all.length > 1 ? d.t : first.t)}`)];
  const kinds = {fused: "fused: no store between the two", data: "data: stored by one kernel, read by another", memory: "read from memory", version: "order: the same memory is overwritten"};
  parts.push(html("p", d.all.length > 1 ? `${d.all.length} edges` : kinds[first.kind], "kind"));
  for (const i of d.all.slice(0, 20)) {
    const e = edges[i];
    if (d.all.length > 1) parts.push(html("h3", `${name(e.s)} → ${name(e.t)}`));
    parts.push(...facts(e.facts), ...proof(e.why || (e.kind === "data" ? thing(e.s).why : "")));
  }
  if (d.all.length > 20) parts.push(html("p", `and ${d.all.length - 20} more`, "hint"));
  panel.replaceChildren(...parts, ...links("from", [...new Set(d.all.map(i => edges[i].s))]), ...links("to", [...new Set(d.all.map(i => edges[i].t))]));
  panel.scrollTop = 0;
}

function welcome() {
  const hint = html("p", undefined, "hint");
  hint.append("Click a kernel, an operation or an edge to see what it is and which rules made it so. Double-click a kernel to open or close it.");
  const keys = html("dl");
  for (const [key, what] of [["Tab", "next box"], ["Enter", "show why"], ["Space", "open or close a kernel"], ["↑ ↓", "along an edge"], ["/", "find"], ["+ − 0", "zoom, fit"], ["Esc", "nothing chosen"]]) keys.append(html("dt", key), html("dd", what));
  panel.replaceChildren(html("h2", data.name), html("p", data.summary, "kind"), hint, html("h3", "keys"), keys);
}

// ---- finding

function search() {
  const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const hits = [];
  if (words.length) {
    const all = [...groups.map((g, i) => -1 - i), ...items.keys()];
    const exact = end => thing(end).id.toLowerCase() === words.join(" ");
    for (const end of all) {
      const t = thing(end);
      const hay = `${t.id} ${t.text} ${t.note} ${(t.facts.find(f => f[0] === "label") || ["", ""])[1]} ${(t.facts.find(f => f[0] === "requested as") || ["", ""])[1]}`.toLowerCase();
      if (words.every(w => hay.includes(w))) hits.push(end);
    }
    hits.sort((a, b) => exact(b) - exact(a));
  }
  found.replaceChildren(...hits.slice(0, 40).map((end, at) => {
    const t = thing(end), label = (t.facts.find(f => f[0] === "label") || ["", ""])[1];
    const made = html("li", end < 0 ? t.text : `${t.node} ${t.text}`);
    made.append(html("span", [t.note, end >= 0 && t.group ? `in ${t.group}` : "", label].filter(Boolean).join(" · ")));
    made.setAttribute("role", "option"); made.setAttribute("aria-selected", String(at === 0)); made.dataset.end = end;
    return made;
  }));
  if (words.length && !hits.length) found.replaceChildren(html("li", "nothing has this name"));
  found.hidden = !words.length;
}
function take(option) {
  if (!option || option.dataset.end === undefined) return;
  found.hidden = true; find.blur();
  const end = Number(option.dataset.end);
  choose(end); focusOn(thing(end).id);
}

// ---- events

function step(end, back) {
  const near = (back ? into : out).get(end) || [];
  const own = end < 0 ? inGroup[-1 - end].flatMap(n => (back ? into : out).get(n) || []) : [];
  for (const i of [...near, ...own]) {
    const other = shownEnd(back ? edges[i].s : edges[i].t);
    if (other !== null && other !== end) { choose(other); focusOn(thing(other).id); return; }
  }
}
function onKey(event) {
  if (event.target === find) {
    const options = [...found.children], at = options.findIndex(o => o.getAttribute("aria-selected") === "true");
    if (event.key === "Escape") { find.value = ""; search(); find.blur(); }
    else if (event.key === "Enter") take(options[Math.max(0, at)]);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = Math.min(options.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)));
      options.forEach((o, i) => o.setAttribute("aria-selected", String(i === next)));
      if (options[next]) options[next].scrollIntoView({block: "nearest"});
    } else return;
    event.preventDefault(); return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = event.target.closest && event.target.closest("[data-id]");
  const key = event.key;
  if (key === "/") { find.focus(); find.select(); }
  else if (key === "Escape") forget();
  else if (key === "+" || key === "=") zoom(1.25);
  else if (key === "-") zoom(0.8);
  else if (key === "0") fit();
  else if (box && key === "Enter") choose(endOf(box.dataset.id));
  else if (box && key === " ") { const id = itemAt.has(box.dataset.id) ? items[itemAt.get(box.dataset.id)].group : box.dataset.id; if (groupAt.has(id)) toggle(id, true); }
  else if (box && (key === "ArrowUp" || key === "ArrowDown")) step(endOf(box.dataset.id), key === "ArrowUp");
  else return;
  event.preventDefault();
}

let drag = null;
svg.addEventListener("pointerdown", e => { drag = {x: e.clientX, y: e.clientY, cx: camera.x, cy: camera.y, moved: false, id: e.pointerId}; });
svg.addEventListener("pointermove", e => {
  if (!drag || !e.buttons) { drag = e.buttons ? drag : null; return; }
  if (!drag.moved && Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < 4) return;
  if (!drag.moved) { drag.moved = true; svg.setPointerCapture(drag.id); }
  camera.x = drag.cx + e.clientX - drag.x; camera.y = drag.cy + e.clientY - drag.y; look();
});
svg.addEventListener("click", e => {
  const moved = drag && drag.moved; drag = null;
  if (moved) return;
  const box = e.target.closest("[data-id]"), edge = e.target.closest("[data-edge]");
  if (box) choose(endOf(box.dataset.id), true); else if (edge) chooseEdge(Number(edge.dataset.edge)); else forget();
});
svg.addEventListener("dblclick", e => { const box = e.target.closest(".group"); if (box && !e.target.closest(".item")) toggle(box.dataset.id, true); });
svg.addEventListener("wheel", e => {
  e.preventDefault();
  const size = svg.getBoundingClientRect();
  if (e.ctrlKey || !e.shiftKey) zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), e.clientX - size.left, e.clientY - size.top);
  else { camera.x -= e.deltaY; look(); }
}, {passive: false});
svg.addEventListener("focusin", e => { const box = e.target.closest("[data-id]"); if (box && box.matches(":focus-visible")) bring(endOf(box.dataset.id)); });
document.addEventListener("keydown", onKey);
find.addEventListener("input", search);
find.addEventListener("focus", search);
find.addEventListener("blur", () => setTimeout(() => { found.hidden = true; }, 150));
found.addEventListener("pointerdown", e => { e.preventDefault(); take(e.target.closest("li")); });
const syncMemory = () => { $("[name=memory]").checked = memory; };
$("[name=memory]").addEventListener("change", e => { memory = e.target.checked; draw(); fit(); });
$("[name=open]").addEventListener("click", () => { groups.forEach(g => { if (g.inside) opened.add(g.id); }); draw(); fit(); });
$("[name=close]").addEventListener("click", () => { opened.clear(); draw(); fit(); });
$("[name=fit]").addEventListener("click", fit);

$("h1").textContent = data.name;
$(".name p").textContent = `${{tensor: "Tensor graph", simplified: "Simplified graph", kernels: "Kernels"}[data.stage]} · ${data.summary}`;
if (!groups.some(g => g.inside)) { $("[name=open]").hidden = $("[name=close]").hidden = true; }
if (!items.some(n => n.kind === "memory")) $("[name=memory]").parentNode.hidden = true;
syncMemory(); draw(); fit(); welcome();
const wanted = decodeURIComponent(location.hash.slice(1));
if (itemAt.has(wanted) || groupAt.has(wanted)) choose(endOf(wanted));
