/*
 * model.js - the objects of the page's data, at the moment that the slider shows.
 *
 *	data.objects	[address, size, type, [[moment, rows or null], ...], made by]
 *	a row		[name, type, text, offset or -1, target or 0, flags, rows or 0, what the target is, links]
 *	links		[how many, offset of the next] of a list, [how many, of left, of right] of a tree
 *	data.roots	[[moment, rows], ...]: what the first column begins with
 *
 * Names and types are numbers of data.names.  An object is, at a moment, what its last version at
 * or before it says; null: it is not there.
 */
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const MISSING = 2, CUT = 32;
const NAME = 0, TYPE = 1, TEXT = 2, OFFSET = 3, TARGET = 4, FLAGS = 5, ROWS = 6, POINTS = 7, LINKS = 8;
const names = data.names;
const hex = n => "0x" + n.toString(16);
const count = n => n.toLocaleString("en");

/* What the slider and the choice beside it say; views ask for them anew whenever they draw. */
const state = { moment: Math.max(0, data.moments.length - 1), since: "previous" };

const before = () => state.since === "first" ? 0 : state.moment - 1;

/* Version that holds at a moment: an index, or -1. */
function versionAt(versions, moment) {
	let lo = 0, hi = versions.length;

	while (lo < hi) {
		const mid = lo + hi >> 1;

		if (versions[mid][0] <= moment)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

function rowsAt(versions, moment) {
	const v = versionAt(versions, moment);

	return v < 0 ? null : versions[v][1];
}

const objects = data.objects.map((o, id) => ({ id, addr: o[0], size: o[1], type: names[o[2]], versions: o[3], made: o[4] }));

/* The objects that are there now, by address; made again when the moment is another. */
let live = { moment: -1 };

function liveNow() {
	if (live.moment === state.moment)
		return live;
	const list = objects.filter(o => rowsAt(o.versions, state.moment));
	let end = 0;

	list.sort((a, b) => a.addr - b.addr || b.size - a.size);
	/* the furthest end of any object up to each: where a search backwards may stop */
	const ends = list.map(o => end = Math.max(end, o.addr + o.size));
	const types = new Map();

	for (const o of list) {
		if (!types.has(o.type))
			types.set(o.type, []);
		types.get(o.type).push(o);
	}
	live = { moment: state.moment, list, ends, types: [...types].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0])), refs: null };
	return live;
}

/* The object that an address points to: one that begins there, else the one that was seen last. */
function objectAt(addr) {
	const { list, ends } = liveNow();
	let lo = 0, hi = list.length, best = null, bestSeen = [-1, -1];

	while (lo < hi) {
		const mid = lo + hi >> 1;

		if (list[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (let i = lo - 1; i >= 0 && ends[i] > addr; i--) {
		const o = list[i], seen = [+(o.addr === addr), o.versions[versionAt(o.versions, state.moment)][0]];

		if (addr < o.addr + Math.max(o.size, 1) && (seen[0] - bestSeen[0] || seen[1] - bestSeen[1] || (best ? o.addr - best.addr : 1)) > 0) {
			best = o;
			bestSeen = seen;
		}
	}
	return best;
}

/* Where the link at an address leads: of the object around it. */
function linkAt(addr) {
	const o = objectAt(addr);
	let to = 0;

	if (o)
		eachRow(rowsAt(o.versions, state.moment), r => { to = r[OFFSET] === addr - o.addr && r[TARGET] || to; });
	return to;
}

/* The objects of the list or tree that a row leads to, as far as they are in the page. */
function nodesOf(row) {
	const [most, next, right] = row[LINKS], nodes = [], open = [], seen = new Set();
	const take = at => {
		const o = at && objectAt(at);

		return o && !seen.has(at) && seen.add(at) ? o : null;
	};
	let at = row[TARGET], o;

	if (right === undefined) {
		for (; nodes.length < most && (o = take(at)); at = linkAt(at + next))
			nodes.push(o);
		return nodes;
	}
	while (nodes.length < most) {		/* in order */
		if ((o = take(at))) {
			open.push([at, o]);
			at = linkAt(at + next);
		} else if (open.length) {
			[at, o] = open.pop();
			nodes.push(o);
			at = linkAt(at + right);
		} else {
			break;
		}
	}
	return nodes;
}

/* fn(row) for each row, those inside others too. */
function eachRow(rows, fn) {
	for (const r of rows) {
		fn(r);
		if (r[ROWS])
			eachRow(r[ROWS], fn);
	}
}

/* fn(object, path) for each that these rows point to themselves: a list's first, not all of it. */
function eachTarget(rows, fn, path = "") {
	for (const r of rows) {
		const name = r[NAME] < 0 ? "" : names[r[NAME]];
		const here = path && name && name[0] !== "[" ? path + "." + name : path + name;
		const to = r[TARGET] ? objectAt(r[TARGET]) : null;

		if (to)
			fn(to, here);
		if (r[ROWS] && !r[TARGET])
			eachTarget(r[ROWS], fn, here);
	}
}

/* Who points to whom now: object id -> [[object, path], ...]. */
function references() {
	const l = liveNow();

	if (l.refs)
		return l.refs;
	l.refs = new Map();
	for (const o of l.list) {
		eachTarget(rowsAt(o.versions, state.moment), (to, path) => {
			if (!l.refs.has(to.id))
				l.refs.set(to.id, []);
			l.refs.get(to.id).push([o, path]);
		});
	}
	return l.refs;
}

/* Is the row other than it was?  old: rows of the moment compared with. */
function rowChanged(row, old) {
	if (!old)
		return false;
	const was = old.find(r => r[NAME] === row[NAME]);

	if (!was)
		return true;
	if (row[ROWS] && was[ROWS])
		return row[ROWS].length !== was[ROWS].length || row[ROWS].some(r => rowChanged(r, was[ROWS]));
	return row[TEXT] !== was[TEXT] || row[TARGET] !== was[TARGET] || (row[FLAGS] & MISSING) !== (was[FLAGS] & MISSING);
}

const existed = o => before() >= 0 && rowsAt(o.versions, before());

function objectChanged(o) {
	if (before() < 0)
		return false;
	const was = versionAt(o.versions, before());

	return was !== versionAt(o.versions, state.moment);
}

/* ---- search ---- */

const lower = new Map();	/* of texts that many objects share: made once */
const fold = s => lower.get(s) || (lower.set(s, s.toLowerCase()), lower.get(s));

function find(text) {
	const want = text.toLowerCase();

	return liveNow().list.filter(o => {
		let hit = fold(o.type).includes(want) || hex(o.addr).includes(want);

		if (!hit)
			eachRow(rowsAt(o.versions, state.moment), r => {
				hit = hit || r[TEXT].toLowerCase().includes(want) || (r[TYPE] >= 0 && fold(names[r[TYPE]]).includes(want));
			});
		return hit;
	});
}
