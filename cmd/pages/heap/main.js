/* main.js - slider, search, tabs, keys. */
"use strict";
let shownTab = "columns";

function tab(name) {
	shownTab = name;
	for (const t of ["columns", "graph", "traces"]) {
		$(t).hidden = t !== name;
		$("tab-" + t).setAttribute("aria-pressed", String(t === name));
	}
	if (name === "graph")
		drawGraph();
	else if (name === "traces")
		drawTraces();
	else
		columns.forEach(drawRows);
}

function drawMoment() {
	const m = data.moments[state.moment], n = data.moments.length;

	$("moment").value = state.moment;
	$("when").textContent = m ? "event " + m.event + (m.label ? ": " + m.label : "") + " (" + (state.moment + 1) + " of " + n + ")" : "no moments";
	$("back").disabled = state.moment <= 0;
	$("on").disabled = state.moment >= n - 1;
	openFrom(0);
	if (shownTab !== "columns")
		tab(shownTab);
}

function goTo(moment) {
	state.moment = Math.max(0, Math.min(data.moments.length - 1, moment));
	drawMoment();
}

$("title").textContent = data.title;
document.title = data.title;
$("moment").max = Math.max(0, data.moments.length - 1);
$("moment").oninput = () => goTo(+$("moment").value);
$("back").onclick = () => goTo(state.moment - 1);
$("on").onclick = () => goTo(state.moment + 1);
$("since").onchange = () => { state.since = $("since").value; drawMoment(); };
for (const t of ["columns", "graph", "traces"])
	$("tab-" + t).onclick = () => tab(t);
$("tab-traces").hidden = !(data.traces || []).length && !(data.aborts || []).length;

let typing = 0;
$("search").oninput = () => {
	clearTimeout(typing);
	typing = setTimeout(() => {
		searched = $("search").value.trim();
		keys = searched ? ["search"] : [];
		tab("columns");
		openFrom(0);
	}, 120);
};
$("search").onkeydown = e => {
	if (e.key === "Enter" && columns[1])
		columns[1].area.focus();
};
document.onkeydown = e => {
	if (/INPUT|SELECT/.test(e.target.tagName) || e.ctrlKey || e.altKey || e.metaKey)
		return;
	if (e.key === "/") {
		$("search").focus();
		e.preventDefault();
	} else if (e.key === "[" || e.key === "]") {
		goTo(state.moment + (e.key === "[" ? -1 : 1));
		(columns[Math.min(focused, columns.length - 1)] || columns[0]).area.focus();
	} else if (e.key === "g" || e.key === "o" || (e.key === "t" && !$("tab-traces").hidden)) {
		tab({ g: "graph", o: "columns", t: "traces" }[e.key]);
	}
};
window.onresize = () => columns.forEach(drawRows);
drawMoment();
columns[0].area.focus();
