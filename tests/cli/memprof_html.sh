#!/bin/bash
# test: timeout=120
# hindsight memprof --html: a browser draws the page, and it answers to the cursor, the search, the table's head, rows and flame graph.
. "$LIB"
need python3 lua5.4
cd "$TMP" || exit 1
cat >p.lua <<'X'
local keep, seen = {}, {}
local function many(i) seen[i % 50] = { i } end
local function big(i) keep[#keep + 1] = ("x"):rep(2000 + i) end
for i = 1, 2000 do
	many(i)
	if i % 4 == 0 then big(i) end
end
io.write("done\n")
os.exit(0, false)
X
"$REC" -o t lua5.4 p.lua >/dev/null || fail rec
"$HINDSIGHT" memprof -q --html=p.html t >out 2>err || fail "html: $(cat err)"
[ ! -s out ] && [ ! -s err ] || fail "it said: $(cat out err)"
command -v chromium >/dev/null || skip 'no chromium'
python3 - <<'X'
page = open("p.html").read()
assert "http" not in page.split('id="data">')[0]
open("clicked.html", "w").write(page + """<script>
setTimeout(() => {
	const seen = {}, first = () => document.querySelector("tr.row").lastElementChild.textContent;
	const buttons = () => [...document.querySelectorAll("#flame button")].map((b) => b.textContent);
	seen.first = first(); seen.rows = document.querySelectorAll("tr.row").length; seen.flame = buttons();
	seen.moment = $("moment").textContent;
	$("cursor").value = 0; $("cursor").dispatchEvent(new Event("input"));
	seen.start = $("moment").textContent;
	$("cursor").value = $("cursor").max; $("cursor").dispatchEvent(new Event("input"));
	document.querySelector('th[data-by="blocks_made"]').click(); seen.most = first();
	document.querySelector("tr.row").click(); seen.open = getComputedStyle(document.querySelector("tr.row + tr.stack")).display;
	$("search").value = "big"; $("search").dispatchEvent(new Event("input")); seen.found = document.querySelectorAll("tr.row").length;
	const b = [...document.querySelectorAll("#flame button")].find((b) => b.textContent.includes("big"));
	if (b) b.click(); seen.zoomed = buttons();
	$("whole").click(); seen.whole = buttons();
	document.title = "SEEN" + JSON.stringify(seen) + "SEEN";
}, 300);
</script>""")
X
root=; [ "$(id -u)" != 0 ] || root=--no-sandbox
HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$PWD/profile" --virtual-time-budget=4000 \
	--dump-dom "file://$PWD/clicked.html" >dom 2>err || skip 'the browser does not run here'
[ -s dom ] || skip 'the browser says nothing'
python3 - <<'X' || fail 'the page does not do as it should'
import html, json
dom = open("dom").read()
assert "SEEN" in dom.split("</title>")[0] or "SEEN" in dom, dom[:300]
s = json.loads(html.unescape(dom.split("SEEN")[1]))
print(s)
assert "big at p.lua:3" in s["first"] or "big" in s["first"], s["first"]
assert "p.lua:2" in s["most"], s["most"]
assert s["open"] == "table-row" and 0 < s["found"] < s["rows"]
assert s["moment"] != s["start"]
assert any("big" in b for b in s["flame"]) and len(s["zoomed"]) < len(s["whole"]) == len(s["flame"])
X
