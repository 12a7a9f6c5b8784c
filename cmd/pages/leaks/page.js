/* page.js - the page of `hindsight leaks --html`: a bar for each of the biggest leaks, and what is known of all. */
"use strict";
const BARS = 30, ROW = 26, HEIGHT = 18, WIDEST = 330, NARROWEST = 3, WIDTH = 1000;
const COLOUR = { lost: "#c33", cycle: "#b80", held: "#28b" };
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const number = n => n.toLocaleString("en");
const baseName = path => path.split("/").pop();

function element(tag, text, parent) {
	const e = document.createElement(tag);

	e.textContent = text;
	parent.append(e);
	return e;
}

function drawing(tag, attributes, parent) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);

	for (const [name, value] of Object.entries(attributes))
		e.setAttribute(name, value);
	parent.append(e);
	return e;
}

function frame(f) {
	if (f.file)
		return `${f.function || "?"} at ${baseName(f.file)}:${f.line}`;
	return (f.function || "?") + (f.module ? " in " + baseName(f.module) : "");
}

/* The frame that a person takes for the one that allocates. */
function place(leak) {
	const f = leak.alloc.stack.find(f => f.file) || leak.alloc.stack[0];

	return f ? frame(f) : "";
}

function stack(parent, title, frames) {
	element("h3", title, parent);
	element("pre", frames.map(frame).join("\n") || "(no stack)", parent);
}

function holders(parent, title, list) {
	if (!list || !list.length)
		return;
	element("h3", title, parent);
	for (const h of list) {
		const by = h.stored_by ? "\n  stored by " + h.stored_by.stack.map(frame).join("\n            ") : "";

		element("pre", `${h.name} (${h.where} ${h.address}) \u2192 ${h.value}${by}`, parent);
	}
}

function leakEntry(leak, i) {
	const e = element("details", "", $("list")), head = element("summary", "", e);
	const of = leak.type ? " of " + leak.type : "", at = place(leak);
	const owning = leak.owned_bytes ? `, owning ${number(leak.owned_bytes)} bytes` : "";

	e.id = "leak" + i;
	element("b", leak.kind, head).className = leak.kind;
	head.append(` ${number(leak.bytes)} bytes in ${number(leak.blocks)} block(s)${of}${owning}${at ? " \u2014 " + at : ""}`);
	stack(e, `allocated (event ${leak.alloc.event})`, leak.alloc.stack);
	if (leak.lost_at) {
		stack(e, `lost: ${leak.lost_at.how} (event ${leak.lost_at.event})`, leak.lost_at.stack);
		element("pre", `replay -e ${leak.lost_at.event} ${data.trace}`, e);
	}
	holders(e, "held by", leak.holders);
	holders(e, "closed by", leak.cycle);
}

function openEntry(i) {
	$("leak" + i).open = true;
	$("leak" + i).scrollIntoView();
}

function bar(leak, i, most, svg) {
	const y = i * ROW + 6, fill = COLOUR[leak.kind];
	const own = Math.max(NARROWEST, WIDEST * leak.bytes / most), owned = WIDEST * leak.owned_bytes / most;
	const g = drawing("g", { class: "node", tabindex: 0, role: "button" }, svg);
	const lost = leak.lost_at && leak.lost_at.stack[0] ? ` \u2192 ${leak.lost_at.how} ${frame(leak.lost_at.stack[0])}` : "";
	const held = leak.holders[0] ? " \u2190 " + leak.holders[0].name : "";

	drawing("rect", { x: 0, y, width: own, height: HEIGHT, fill }, g);
	drawing("rect", { x: own, y, width: owned, height: HEIGHT, fill, opacity: 0.4 }, g);
	drawing("text", { x: own + owned + 8, y: y + 13, fill: "currentColor" }, g).textContent =
		`${leak.kind} ${number(leak.bytes + leak.owned_bytes)} bytes: ${place(leak)}${lost}${held}`;
	g.onclick = () => openEntry(i);
	g.onkeydown = e => {
		if (e.key === "Enter" || e.key === " ") {
			e.preventDefault();
			openEntry(i);
		}
	};
}

function drawGraph() {
	const some = data.leaks.slice(0, BARS), height = some.length * ROW + 10;
	const most = data.leaks.reduce((n, l) => Math.max(n, l.bytes + l.owned_bytes), 1);
	const svg = drawing("svg", { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}` }, $("graph"));

	some.forEach((leak, i) => bar(leak, i, most, svg));
}

const sum = data.summary;
$("summary").textContent = `${data.trace}, event ${data.at.event}: ${number(sum.live_blocks)} blocks live (${number(sum.live_bytes)} bytes), ` +
	`${number(sum.leaked_blocks)} cannot be reached (${number(sum.leaked_bytes)} bytes).`;
data.leaks.forEach(leakEntry);
drawGraph();
