/* graph.js - an object and its neighbours: who points to it on the left, what it points to on the right. */
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const NEIGHBOURS = 40;

function svg(tag, attributes, parent) {
	const e = document.createElementNS(SVG, tag);

	for (const k in attributes)
		e.setAttribute(k, attributes[k]);
	if (parent)
		parent.append(e);
	return e;
}

function graphNode(o, x, y, className, parent) {
	const g = svg("g", { class: "node " + className + (objectChanged(o) ? " changed" : ""), tabindex: 0, transform: `translate(${x},${y})` }, parent);
	const cut = s => s.length > 32 ? s.slice(0, 31) + "\u2026" : s;

	svg("rect", { width: 250, height: 40, rx: 4 }, g);
	svg("text", { x: 8, y: 16 }, g).textContent = cut(o.type);
	svg("text", { x: 8, y: 33, class: "label" }, g).textContent = cut(hex(o.addr) + " " + summary(o));
	g.onclick = () => { openObject(o); drawGraph(); };
	g.onkeydown = e => { if (e.key === "Enter") g.onclick(); };
}

function drawGraph() {
	const area = $("graph"), o = chosen();

	area.textContent = "";
	if (!o || !rowsAt(o.versions, state.moment)) {
		make("div", "nothing", "Pick an object first.", area);
		return;
	}
	const out = new Map(), into = new Map();
	const add = (map, other, path) => map.set(other, (map.get(other) || []).concat(path));

	eachTarget(rowsAt(o.versions, state.moment), (to, path) => add(out, to, path));
	for (const [from, path] of references().get(o.id) || [])
		add(into, from, path);
	const rows = Math.max(1, Math.min(NEIGHBOURS, Math.max(out.size, into.size)));
	const height = rows * 54 + 40, middle = height / 2 - 20;
	const s = svg("svg", { width: 1120, height, role: "img", "aria-label": "neighbours of " + o.type + " " + hex(o.addr) }, area);
	const side = (map, x, edge) => {
		const list = [...map].slice(0, NEIGHBOURS), top = (height - list.length * 54) / 2;

		list.forEach(([other, paths], i) => {
			const y = top + i * 54;

			edge(y + 20, paths.slice(0, 3).join(", ") + (paths.length > 3 ? ", ..." : ""));
			graphNode(other, x, y, "", s);
		});
		if (map.size > NEIGHBOURS)
			svg("text", { x, y: height - 6, class: "label" }, s).textContent = count(map.size - NEIGHBOURS) + " more";
	};
	const line = (x1, y1, x2, y2, text) => {
		svg("path", { class: "edge", d: `M${x1},${y1} C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}` }, s);
		svg("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 4, "text-anchor": "middle", class: "label" }, s).textContent = text;
	};
	side(into, 10, (y, text) => line(260, y, 430, middle + 20, text));
	side(out, 850, (y, text) => line(680, middle + 20, 850, y, text));
	graphNode(o, 430, middle, "centre", s);
	area.scrollTop = (height - area.clientHeight) / 2;
}
