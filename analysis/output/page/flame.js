/* flame.js - the flame graph of `--flame`: one can go into a part, search, and change the column. */
"use strict";
const ROW = 17, NARROWEST = 0.5;
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
/* A node: [name, parent, is code of a JIT, [total of each column]]. */
const nodes = data.nodes.map(([name, parent, jit, total]) => ({ name: data.names[name], parent, jit, total, children: [] }));
let root = 0;

nodes.forEach((n, i) => {
	if (i)
		nodes[n.parent].children.push(i);
});

function number(value, [, unit]) {
	return value.toLocaleString("en") + (unit && unit !== "count" ? " " + unit : "");
}

/* Functions of one name have one colour. */
function colour(name, jit) {
	let h = 5381;

	for (const c of name)
		h = (h * 33 + c.codePointAt(0)) >>> 0;
	if (jit)
		return `rgb(${120 + h % 40}, ${190 + Math.floor(h / 40) % 45}, ${90 + Math.floor(h / 7) % 40})`;
	return `rgb(${215 + h % 40}, ${110 + Math.floor(h / 40) % 100}, ${40 + Math.floor(h / 7) % 40})`;
}

/* What is searched for; null: nothing, or no regular expression yet. */
function pattern() {
	try {
		return $("search").value ? new RegExp($("search").value) : null;
	} catch {
		return null;
	}
}

function show(node) {
	root = node;
	draw();
}

function box(i, place, view) {
	const n = nodes[i], e = document.createElement("button");
	const share = (100 * n.total[view.column] / view.all).toFixed(2);

	e.textContent = n.name;
	e.title = `${n.name} (${number(n.total[view.column], data.types[view.column])}, ${share}%)`;
	e.style.cssText = `left:${place.x}px;width:${place.width}px;top:${place.row * ROW}px;background:${colour(n.name, n.jit)}`;
	e.classList.toggle("outer", place.outer);
	e.classList.toggle("hit", Boolean(view.pattern && view.pattern.test(n.name)));
	e.onclick = () => show(i);
	$("flame").append(e);
	view.deepest = Math.max(view.deepest, place.row);
}

/* The callers of the root, outermost first, all as wide as the page; returns how many. */
function drawOuter(width, view) {
	const chain = [];

	for (let i = root; i; i = nodes[i].parent)
		chain.unshift(nodes[i].parent);
	chain.forEach((i, row) => box(i, { x: 0, width, row, outer: true }, view));
	return chain.length;
}

/* The root and what it calls. Returns the total of what was searched for; a hit in a hit counts once. */
function drawInner(width, row, view) {
	const todo = [{ i: root, x: 0, width, row, inHit: false }];
	let hits = 0;

	while (todo.length) {
		const at = todo.pop(), n = nodes[at.i], total = n.total[view.column];
		const hit = Boolean(view.pattern && view.pattern.test(n.name));
		let x = at.x;

		box(at.i, { ...at, outer: false }, view);
		if (hit && !at.inHit)
			hits += total;
		for (const i of n.children) {
			const w = at.width * nodes[i].total[view.column] / (total || 1);

			if (w >= NARROWEST)
				todo.push({ i, x, width: w, row: at.row + 1, inHit: at.inHit || hit });
			x += w;
		}
	}
	return hits;
}

function draw() {
	const column = Number($("column").value), width = $("flame").clientWidth;
	const view = { column, all: nodes[0].total[column] || 1, pattern: pattern(), deepest: 0 };
	let hits;

	$("flame").textContent = "";
	hits = drawInner(width, drawOuter(width, view), view);
	$("flame").style.height = (view.deepest + 1) * ROW + "px";
	$("info").textContent = view.pattern
		? `matched: ${number(hits, data.types[column])}, ${(100 * hits / view.all).toFixed(2)}%`
		: number(nodes[root].total[column], data.types[column]);
}

$("title").textContent = data.title;
data.types.forEach(([name], i) => $("column").append(new Option(name, i)));
$("column").value = data.type;
$("column").onchange = $("search").oninput = window.onresize = draw;
$("all").onclick = () => show(0);
draw();
