/*
 * traces.js - LuaJIT's traces up to the moment: bytecode, IR, machine code, exits, links, aborts.
 *
 *	data.traces	{ moment, number, addr, start, link, parent, exit, bytecode, ir, snapshots, mcode }
 *	data.aborts	{ moment, start, reason, bytecode }
 */
"use strict";
let trace = null;	/* that is shown */

const tracesNow = () => (data.traces || []).filter(t => t.moment <= state.moment);
const abortsNow = () => (data.aborts || []).filter(t => t.moment <= state.moment);

function table(parent, title, heads, rows) {
	if (!rows || !rows.length)
		return;
	make("h3", "", title, parent);
	const t = make("table", "", null, parent), head = make("tr", "", null, t);

	heads.forEach(h => make("th", "", h, head));
	for (const r of rows) {
		const tr = make("tr", r.className, null, t);

		(r.cells || r).forEach(c => c instanceof Node ? make("td", "", null, tr).append(c) : make("td", "", c, tr));
	}
}

function traceLink(number, from) {
	const to = tracesNow().filter(t => t.number === number && t !== from).pop();

	if (!to)
		return "trace " + number;
	const a = make("a", "", "trace " + number);

	a.onclick = () => { trace = to; drawTraces(); };
	return a;
}

function drawTrace(view, t) {
	make("h2", "", (t.reason ? "Abort" : "Trace " + t.number) + " \u2014 " + (t.start || "?"), view);
	const facts = [];

	if (t.reason)
		facts.push(["reason", t.reason]);
	if (t.parent)
		facts.push(["parent", traceLink(t.parent, t)], ["from exit", t.exit]);
	if (t.linktype)
		facts.push(["link", t.link && t.link !== t.number ? traceLink(t.link, t) : t.linktype], ["kind of link", t.linktype]);
	if (t.addr) {
		const a = make("a", "", hex(t.addr)), o = objectAt(t.addr);

		a.onclick = () => { if (o) { openObject(o); tab("columns"); } };
		facts.push(["object", a]);
	}
	if (t.size)
		facts.push(["machine code", t.size + " bytes at " + hex(t.code)]);
	table(view, "", ["", ""], facts);
	table(view, "Bytecode", ["depth", "where", "instruction"], t.bytecode);
	const byRef = new Map();

	(t.snapshots || []).forEach((s, i) => byRef.set(s[0], (byRef.get(s[0]) || []).concat([[i, s]])));
	const ir = [];

	for (const r of t.ir || []) {
		for (const [i, s] of byRef.get(r[0]) || [])
			ir.push({ className: "snapshot", cells: ["...", "", "SNAP", "#" + i, s[1]] });
		ir.push([String(r[0]).padStart(4, "0"), r[1], r[2], r[3], r[4]]);
	}
	table(view, "IR", ["ref", "flags", "type", "instruction", "operands"], ir);
	table(view, "Exits", ["exit", "before IR", "slots"], (t.snapshots || []).map((s, i) => [i, String(s[0]).padStart(4, "0"), s[1]]));
	table(view, "Machine code", ["offset", "bytes", "instruction"], t.mcode);
}

function drawTraces() {
	const area = $("traces"), all = [...tracesNow(), ...abortsNow()].sort((a, b) => a.moment - b.moment);

	area.textContent = "";
	const side = make("div", "side", null, area), view = make("div", "view", null, area);

	if (!all.length) {
		make("div", "nothing", "No trace up to this moment.", side);
		return;
	}
	if (!trace || !all.includes(trace))
		trace = all[all.length - 1];
	const t = make("table", "", null, side), head = make("tr", "", null, t);

	["trace", "start", "link", "moment"].forEach(h => make("th", "", h, head));
	for (const x of all) {
		const tr = make("tr", x.reason ? "abort" : "", null, t);

		tr.classList.toggle("picked", x === trace);
		tr.tabIndex = 0;
		make("td", "", x.reason ? "abort" : x.number, tr);
		make("td", "", x.start || "?", tr);
		make("td", "", x.reason || (x.linktype || "") + (x.link ? " " + x.link : "") + (x.parent ? " (from " + x.parent + "/" + x.exit + ")" : ""), tr);
		make("td", "", String(data.moments[x.moment].event), tr);
		tr.onclick = () => { trace = x; drawTraces(); };
		tr.onkeydown = e => {
			const to = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0, next = all[all.indexOf(trace) + to];

			if (to && next) {
				trace = next;
				drawTraces();
				$("traces").querySelector("tr.picked").focus();
				e.preventDefault();
			} else if (e.key === "Enter") {
				tr.onclick();
			}
		};
	}
	drawTrace(view, trace);
}
