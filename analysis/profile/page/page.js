"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const all = data.stacks.reduce((sum, s) => sum + s[1], 0) || 1;
const percent = n => (100 * n / all).toFixed(1);

function make(tag, text, parent) {
	const e = document.createElement(tag);

	if (text !== undefined)
		e.textContent = text;
	if (parent)
		parent.append(e);
	return e;
}

/* Warm colours for native code, green for guest code, darker for machine code of traces. */
function colour(name, kind) {
	let h = 5381;

	for (const c of name)
		h = (h * 33 + c.codePointAt(0)) >>> 0;
	if (kind === "host")
		return `rgb(${215 + h % 40},${110 + (h / 40 | 0) % 100},${40 + (h / 7 | 0) % 40})`;
	if (kind === "gc")
		return "rgb(170,150,220)";
	return `rgb(${(kind === "guest" ? 120 : 80) + h % 40},${180 + (h / 40 | 0) % 45},${90 + (h / 7 | 0) % 40})`;
}

/* ---- flame graph ---- */

/* Node: name, kind, parent, weight, children by name. */
const root = { name: "all", kind: "host", parent: null, weight: 0, kids: new Map() };

for (const [frames, weight] of data.stacks) {
	let node = root;

	root.weight += weight;
	for (const f of frames) {
		const [name, , , kind] = data.frames[f];
		let kid = node.kids.get(name);

		if (!kid) {
			kid = { name, kind, parent: node, weight: 0, kids: new Map() };
			node.kids.set(name, kid);
		}
		kid.weight += weight;
		node = kid;
	}
}

let shown = root;

function flame() {
	const area = $("flame"), width = area.clientWidth;
	let pattern = null, deepest = 0, hits = 0;

	try {
		pattern = $("search").value ? new RegExp($("search").value) : null;
	} catch (e) {
		pattern = null;
	}
	area.textContent = "";
	const box = (node, x, w, row, outer) => {
		const e = make("div", node.name, area);

		e.title = `${node.name} (${node.weight} samples, ${percent(node.weight)} %)`;
		e.style.cssText = `left:${x}px;width:${w}px;top:${row * 17}px;background:${colour(node.name, node.kind)}`;
		e.className = (outer ? "outer " : "") + (pattern && pattern.test(node.name) ? "hit" : "");
		e.onclick = () => { shown = node; flame(); };
		deepest = Math.max(deepest, row);
	};
	const outer = [];
	for (let n = shown.parent; n; n = n.parent)
		outer.unshift(n);
	outer.forEach((n, row) => box(n, 0, width, row, true));
	const todo = [[shown, 0, width, outer.length, false]];
	while (todo.length) {
		const [node, x, w, row, inHit] = todo.pop();
		const hit = !inHit && pattern && pattern.test(node.name);
		let at = x;

		box(node, x, w, row, false);
		if (hit)
			hits += node.weight;
		for (const kid of node.kids.values()) {
			const kw = w * kid.weight / node.weight;

			if (kw >= .5)
				todo.push([kid, at, kw, row + 1, inHit || hit]);
			at += kw;
		}
	}
	area.style.height = (deepest + 1) * 17 + "px";
	$("info").textContent = pattern ? `matched: ${percent(hits)} %` : `${percent(shown.weight)} % of ${all} samples`;
}

/* ---- state over time ---- */

function states() {
	const names = data.states, hues = names.map((n, i) => `hsl(${i * 67 % 360},60%,55%)`);

	for (const bucket of data.time) {
		const sum = bucket.reduce((a, b) => a + b, 0), column = make("div", "", $("bar"));

		bucket.forEach((n, i) => {
			const part = make("div", "", column);

			part.style.cssText = `height:${100 * n / (sum || 1)}%;background:${hues[i]}`;
			part.title = `${names[i]}: ${n}`;
		});
	}
	names.forEach((name, i) => {
		const s = make("span", undefined, $("legend"));

		make("i", "", s).style.background = hues[i];
		s.append(name);
	});
}

/* ---- tables ---- */

function row(table, cells, share) {
	const tr = make("tr", undefined, table);

	for (const c of cells)
		make("td", c, tr);
	if (share > 0) {
		tr.className = "hot";
		tr.style.setProperty("--share", share + "%");
	}
	return tr;
}

function functions() {
	const self = new Map(), total = new Map(), table = $("functions");
	const add = (map, name, n) => map.set(name, (map.get(name) || 0) + n);

	for (const [frames, weight] of data.stacks) {
		const names = frames.map(f => data.frames[f][0]);

		if (names.length)
			add(self, names[names.length - 1], weight);
		new Set(names).forEach(n => add(total, n, weight));
	}
	const head = make("tr", undefined, table);
	["self %", "total %", "function"].forEach(t => make("th", t, head));
	[...total.keys()].sort((a, b) => (self.get(b) || 0) - (self.get(a) || 0) || total.get(b) - total.get(a))
		.slice(0, 40).forEach(n => row(table, [percent(self.get(n) || 0), percent(total.get(n)), n], 0));
}

/* Weights of lines, by file: [self, total]. */
const files = new Map();

for (const [frames, weight] of data.stacks) {
	const seen = new Set();

	frames.forEach((f, i) => {
		const [, file, line] = data.frames[f], key = file + ":" + line;

		if (!file || !line)
			return;
		if (!files.has(file))
			files.set(file, new Map());
		const lines = files.get(file), have = lines.get(line) || [0, 0];

		if (i === frames.length - 1)
			have[0] += weight;
		if (!seen.has(key))
			have[1] += weight;
		seen.add(key);
		lines.set(line, have);
	});
}

function lines() {
	const file = $("file").value, table = $("lines"), have = files.get(file) || new Map();
	const source = data.sources[file], numbers = [...have.keys()].sort((a, b) => a - b);

	table.textContent = "";
	const head = make("tr", undefined, table);
	["self %", "total %", "line", source ? "source" : ""].forEach(t => make("th", t, head));
	for (let n = source ? 1 : 0; n <= (source ? source.length : numbers.length - 1); n++) {
		const line = source ? n : numbers[n], w = have.get(line);

		row(table, [w ? percent(w[0]) : "", w ? percent(w[1]) : "", line, source ? source[n - 1] : ""],
			w ? 100 * w[0] / all : 0);
	}
}

$("title").textContent = data.title;
$("summary").textContent = data.summary;
[...files.keys()].sort((a, b) => Math.max(...[...files.get(b).values()].map(w => w[0])) - Math.max(...[...files.get(a).values()].map(w => w[0])))
	.forEach(f => { make("option", f, $("file")).value = f; });
$("file").onchange = lines;
$("search").oninput = flame;
$("all").onclick = () => { shown = root; flame(); };
window.onresize = flame;
states();
functions();
lines();
flame();
