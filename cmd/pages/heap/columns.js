/*
 * columns.js - columns that open to the right.
 *
 * What is open is a list of keys, one for each column; after each change of the moment the columns
 * are made anew along these keys, so that they follow pointers that have changed.  A column draws
 * only the rows that are in sight.
 */
"use strict";
const ROW = 20;
let keys = [];		/* of what is picked in each column */
let columns = [];
let focused = 0;
let searched = "";

function make(tag, className, text, parent) {
	const e = document.createElement(tag);

	if (className)
		e.className = className;
	if (text !== undefined && text !== null)
		e.textContent = text;
	if (parent)
		parent.append(e);
	return e;
}

/* ---- what is in columns: items of key, name, value, type, addr, flags, changed(), open() ---- */

function objectItem(o) {
	return {
		key: "o" + o.id, object: o, name: hex(o.addr), type: o.type, addr: o.addr, flags: 0,
		get value() { return summary(o); },
		changed: () => objectChanged(o), open: () => objectColumn(o, 0),
	};
}

/* A few fields of an object, as one line. */
function summary(o) {
	const all = rowsAt(o.versions, state.moment) || [], fields = all.filter(r => r[NAME] >= 0 && names[r[NAME]][0] !== "+");
	const rows = fields.length ? fields : all[0] && all[0][NAME] < 0 ? all.slice(0, 1) : all;

	return rows.slice(0, 4).map(r => (r[NAME] < 0 ? "" : names[r[NAME]] + " ") + (r[ROWS] ? "{...}" : r[TEXT])).join(", ");
}

function nodesColumn(row, name) {
	const items = nodesOf(row).map((o, i) => {
		const x = objectItem(o);

		return Object.defineProperties(x, { key: { value: "n" + i }, name: { value: "[" + i + "]" } });
	});

	return { title: (name || "inside") + " \u2014 " + count(items.length), items };
}

function rowItems(rows, old, base, holder) {
	const seen = new Map();

	return rows.map(r => {
		const name = r[NAME] < 0 ? "" : names[r[NAME]], again = seen.get(name) || 0;
		const target = r[TARGET] ? objectAt(r[TARGET]) : null;
		const was = old && old.find(x => x[NAME] === r[NAME]);

		seen.set(name, again + 1);
		return {
			key: "r" + name + "#" + again, object: holder, name, type: r[TYPE] < 0 ? "" : names[r[TYPE]], flags: r[FLAGS],
			value: r[ROWS] && !r[TEXT] ? "{" + r[ROWS].length + "}" : r[TEXT], points: r[POINTS], was: was && was[TEXT],
			addr: base !== null && r[OFFSET] >= 0 ? base + r[OFFSET] : 0, changed: () => rowChanged(r, old),
			open: r[LINKS] && target ? () => nodesColumn(r, name) : r[ROWS] ? () => ({ title: name || "inside", items: rowItems(r[ROWS], was && was[ROWS] || (old ? [] : null), base, holder) })
				: target ? () => objectColumn(target, r[TARGET] - target.addr) : null,
		};
	});
}

function objectColumn(o, offset) {
	const rows = rowsAt(o.versions, state.moment), old = before() >= 0 ? rowsAt(o.versions, before()) : null;

	return {
		title: o.type + " " + hex(o.addr) + (offset ? " (pointed to at +" + offset + ")" : "") + (o.made ? " \u2014 " + o.made : ""),
		object: o, items: rows ? rowItems(rows, old, o.addr, o) : [], nothing: "not there at this moment",
	};
}

function rootColumn() {
	const rows = rowsAt(data.roots, state.moment) || [], old = before() >= 0 ? rowsAt(data.roots, before()) : null;
	const items = data.events ? rowItems(rows, null, null, null) : rowItems(rows, old, null, null);

	if (searched) {
		const found = find(searched);

		items.unshift({ key: "search", name: "search", value: count(found.length) + " found", type: "", addr: 0, flags: 0, changed: () => false,
			open: () => listColumn("\u201c" + searched + "\u201d", found) });
	}
	for (const [type, list] of liveNow().types)
		items.push({ key: "t" + type, name: type, value: count(list.length) + (list.length === 1 ? " object" : " objects"), type: "", addr: 0, flags: 0,
			changed: () => list.some(objectChanged), open: () => listColumn(type, list) });
	return { title: data.title, items, nothing: "nothing is known at this moment" };
}

function listColumn(title, list) {
	return { title: title + " \u2014 " + count(list.length), list, nothing: "none" };
}

const size = c => c.list ? c.list.length : c.items.length;
const item = (c, i) => c.list ? objectItem(c.list[i]) : c.items[i];

function indexOf(c, key) {
	if (key === undefined)
		return -1;
	if (c.list)
		return c.list.findIndex(o => "o" + o.id === key);
	return c.items.findIndex(x => x.key === key);
}

/* ---- drawing ---- */

function drawRows(c) {
	const first = Math.max(0, Math.floor(c.area.scrollTop / ROW) - 5), last = Math.min(size(c), first + Math.ceil(c.area.clientHeight / ROW) + 10);

	c.spacer.textContent = "";
	for (let i = first; i < last; i++) {
		const x = item(c, i), row = make("div", "row", null, c.spacer), changed = x.changed();

		row.style.top = i * ROW + "px";
		row.classList.toggle("picked", i === c.picked);
		row.classList.toggle("changed", changed);
		row.classList.toggle("missing", !!(x.flags & MISSING));
		row.classList.toggle("opens", !!x.open);
		row.classList.toggle("wide", !x.type && !x.addr);
		row.setAttribute("role", "option");
		make("span", "name", x.name, row);
		make("span", "value", x.value + (x.points ? "  " + x.points : ""), row);
		make("span", "type", x.type, row);
		make("span", "address", x.addr ? hex(x.addr) : "", row);
		row.title = [x.name, x.value, x.points, x.type].filter(t => t).join("\n") + (changed && x.was !== undefined && x.was !== x.value ? "\nbefore: " + x.was : "");
		row.onmousedown = () => pick(c.number, i);
	}
}

function buildColumn(c, number) {
	const e = make("section", (number ? "column" : "column first") + (c.list ? " objects" : ""), null, $("columns")), head = (make("h2", "", c.title, e), make("div", "head", null, e));

	["Name", "Value", "Type", "Address"].forEach(t => make("span", "", t, head));
	c.number = number;
	c.area = make("div", "list", null, e);
	c.area.tabIndex = 0;
	c.area.setAttribute("role", "listbox");
	c.area.setAttribute("aria-label", c.title);
	c.spacer = make("div", "", null, c.area);
	c.spacer.style.height = size(c) * ROW + "px";
	if (!size(c))
		make("div", "nothing", c.nothing || "nothing", c.area);
	c.area.onscroll = () => drawRows(c);
	c.area.onfocus = () => { focused = number; };
	c.area.onkeydown = e2 => keyInColumn(c, e2);
	c.element = e;
	drawRows(c);
}

/* Columns from number on, along the keys. */
function openFrom(number) {
	const widths = columns.map(c => c.element.style.width), tops = columns.map(c => c.area.scrollTop);
	let next = number ? null : rootColumn();

	columns.slice(number).forEach(c => c.element.remove());
	columns.length = number;
	if (number) {
		const c = columns[number - 1], x = c.picked >= 0 ? item(c, c.picked) : null;

		next = x && x.open ? x.open() : null;
	}
	for (let i = number; next && i < 200; i++) {
		const c = next;

		c.picked = indexOf(c, keys[i]);
		columns.push(c);
		buildColumn(c, i);
		if (widths[i])
			c.element.style.width = widths[i];
		if (tops[i])
			c.area.scrollTop = tops[i];
		show(c);
		next = c.picked >= 0 && item(c, c.picked).open ? item(c, c.picked).open() : null;
	}
	tell();
}

/* Scrolls the picked row into sight. */
function show(c) {
	if (c.picked < 0)
		return;
	if (c.picked * ROW < c.area.scrollTop)
		c.area.scrollTop = c.picked * ROW;
	else if ((c.picked + 1) * ROW > c.area.scrollTop + c.area.clientHeight)
		c.area.scrollTop = (c.picked + 1) * ROW - c.area.clientHeight;
	drawRows(c);
}

function pick(number, i) {
	const c = columns[number];

	c.picked = Math.max(0, Math.min(size(c) - 1, i));
	if (!size(c))
		return;
	keys.length = number;
	keys[number] = item(c, c.picked).key;
	focused = number;
	show(c);
	openFrom(number + 1);
	const last = columns[columns.length - 1].element;
	last.scrollIntoView({ inline: "nearest", block: "nearest" });
}

/* The object that is looked at: of the picked item, or of the column. */
function chosen() {
	for (let i = columns.length - 1; i >= 0; i--) {
		const c = columns[i], x = c.picked >= 0 ? item(c, c.picked) : null;

		if (c.object)
			return c.object;
		if (x && x.object)
			return x.object;
	}
	return null;
}

function tell() {
	const c = columns[focused] || columns[0], x = c && c.picked >= 0 ? item(c, c.picked) : null;

	$("status").textContent = x ? [x.name, x.type, x.value, x.points, x.changed() && x.was !== undefined && x.was !== x.value ? "before: " + x.was : ""]
		.filter(t => t).join("   ") : count(liveNow().list.length) + " objects, " + count(data.moments.length) + " moments" +
			(data.dropped ? "; " + count(data.dropped) + " objects more are not in this page" : "");
}

function keyInColumn(c, e) {
	const page = Math.max(1, Math.floor(c.area.clientHeight / ROW) - 1);
	const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };

	if (e.key in moves) {
		pick(c.number, Math.max(0, Math.min(size(c) - 1, c.picked + moves[e.key])));
	} else if (e.key === "ArrowRight" || e.key === "Enter") {
		const next = columns[c.number + 1];

		if (!next)
			return;
		if (next.picked < 0)
			pick(next.number, 0);
		next.area.focus();
		focused = next.number;
		tell();
	} else if (e.key === "ArrowLeft") {
		if (c.number) {
			columns[c.number - 1].area.focus();
			focused = c.number - 1;
			keys.length = c.number;
			openFrom(c.number);
		}
	} else {
		return;
	}
	e.preventDefault();
}

/* Opens an object, wherever it is listed. */
function openObject(o) {
	keys = ["t" + o.type, "o" + o.id];
	openFrom(0);
	focused = Math.min(2, columns.length - 1);
}
