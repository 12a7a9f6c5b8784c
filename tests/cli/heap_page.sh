#!/bin/bash
# test: timeout=120
# hindsight heap --html: the inspector of an audit log, in a browser, by clicks and keys.
. "$LIB"
need python3
"$HINDSIGHT" heap --read="$ROOT/tests/golden/audit.log" --html=p.html >out 2>err || fail "html: $(cat err)"
[ ! -s out ] && [ ! -s err ] || fail "it said: $(cat out err)"
python3 - <<'X' || fail 'page'
import json
page = open("p.html").read()
d = json.loads(page.split('id="data">')[1].split("</script>")[0])
assert [t["number"] for t in d["traces"]] == [1, 2, 3, 4, 5], d["traces"]
assert [(t["parent"], t["exit"], t["linktype"]) for t in d["traces"]] == [(0, 0, "loop"), (1, 3, "root"), (2, 3, "root"), (0, 0, "root"), (2, 5, "root")]
assert d["traces"][0]["start"] == "audit1.lua:4" and d["aborts"][0]["reason"] == "leaving loop in root trace", d["aborts"]
assert d["traces"][0]["bytecode"][0][2].startswith("0010 TGETB"), d["traces"][0]["bytecode"]
assert [r[3] for r in d["traces"][0]["ir"]].count("LOOP") == 1 and len(d["traces"][0]["snapshots"]) == 4
assert sum(len(r[1]) // 2 for r in d["traces"][0]["mcode"]) == 138
assert len(d["moments"]) == 19 and len(d["objects"]) > 50
for mark in ("/*JS*/", "/*CSS*/", "/*DATA*/", "https:"):
	assert mark not in page, mark
X
command -v chromium >/dev/null || skip 'chromium is not installed: the page was not looked at'
# click.js SCRIPT: its results go into an attribute of the page.
cat >click.js <<'X'
const log = {};
const rows = c => [...columns[c].element.querySelectorAll(".row")];
const row = (c, text) => rows(c).find(r => r.textContent.includes(text));
const click = e => e.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const value = (c, name) => rows(c).find(r => r.querySelector(".name").textContent === name).querySelector(".value").textContent;
log.when = $("when").textContent;
click(row(0, "GCtrace"));
log.trace = value(1, "traceno");
click(row(1, "startpt"));
log.proto = value(2, "(place)");
log.columns = columns.length;
$("back").click();			/* the columns follow the event's pointer */
log.before = [$("when").textContent, value(1, "traceno"), value(2, "(place)")];
$("moment").value = 18; $("moment").oninput();
columns[0].area.focus();
press("Home"); press("ArrowDown"); press("ArrowDown"); press("ArrowRight"); press("ArrowDown"); press("ArrowLeft");
log.keys = [columns.length, focused, rows(0)[2].classList.contains("picked")];
press("[");
log.bracket = $("when").textContent;
press("]");
click(row(0, "jit_State"));
log.changed = document.querySelectorAll(".row.changed").length > 0;
$("tab-traces").click();
const side = [...document.querySelectorAll("#traces .side tr")];
side.find(r => r.textContent.startsWith("abort")).click();
log.abort = document.querySelector("#traces .view").textContent;
[...document.querySelectorAll("#traces .side tr")].find(r => r.firstChild.textContent === "3").click();
log.three = document.querySelector("#traces .view").textContent;
document.querySelector("#traces .view a").click();	/* its parent */
log.two = document.querySelector("#traces .view h2").textContent;
[...document.querySelectorAll("#traces .view a")].find(a => a.textContent.startsWith("0x")).click();
log.object = columns[columns.length - 1].title;
$("tab-graph").click();
log.graph = [...document.querySelectorAll("#graph g.node")].map(n => n.textContent).join("|");
$("tab-columns").click();
$("search").value = "audit1.lua"; $("search").oninput();
setTimeout(() => {
	log.search = rows(0)[0].textContent;
	click(rows(0)[0]);
	log.found = rows(1)[0].textContent;
	document.body.dataset.log = JSON.stringify(log);
}, 300);
X
python3 - <<'X'
page = open("p.html").read()
open("q.html", "w").write(page.replace("</html>", "<script>window.onerror = (m, s, l) => { document.body.dataset.error = m + ' ' + l; };</script><script>" + open("click.js").read() + "</script></html>"))
X
root=; [ "$(id -u)" != 0 ] || root=--no-sandbox
browser() { HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$PWD/profile" --window-size=1400,800 --virtual-time-budget=4000 "$@" 2>err; }
browser --dump-dom "file://$PWD/q.html" >dom || skip 'chromium does not run here'
[ -s dom ] || skip 'chromium does not run here'
python3 - <<'X' || fail "the page: $(cat said)"
import html, json, re, sys
dom = open("dom").read()
m = re.search(r'data-error="([^"]*)"', dom)
said = open("said", "w")
m and print(html.unescape(m[1]), file=said)
m = re.search(r'data-log="([^"]*)"', dom)
log = json.loads(html.unescape(m[1]))
json.dump(log, said); said.flush()
assert log["when"] == "event 97: trace_stop (19 of 19)"
assert log["trace"] == "5" and log["proto"].startswith("audit1.lua:") and log["columns"] >= 3
assert log["before"] == ["event 86: trace_stop (18 of 19)", "4", "audit1.lua:7"], log["before"]
assert log["keys"] == [2, 0, True] and log["bracket"].startswith("event 86") and log["changed"]
assert "leaving loop in root trace" in log["abort"] and "Trace 3" in log["three"] and "trace 2" in log["three"] and "SLOAD" in log["three"]
for part in ("Bytecode", "IR", "Exits", "Machine code"):
	assert part in log["three"], part
assert log["two"].startswith("Trace 2 ") and log["object"].startswith("GCtrace 0x")
assert "GCproto" in log["graph"] and "SnapShot[]" in log["graph"], log["graph"]
assert log["search"].startswith("search") and "audit1.lua" in log["found"], (log["search"], log["found"])
X
# Pictures, light and dark.
for mode in 1 0; do
	browser --blink-settings=preferredColorScheme=$mode --screenshot="$PWD/$mode.png" "file://$PWD/q.html" >/dev/null
	[ "$(stat -c %s $mode.png)" -gt 8000 ] || fail 'no picture'
done
cmp -s 0.png 1.png && fail 'dark looks like light'
exit 0
