#!/bin/bash
# test: timeout=150
# The pages of --flame and leaks --html: a browser draws them, and they answer to clicks, keys, the search and the column.
. "$LIB"
need gcc python3
cd "$TMP" || exit 1
cat >p.c <<'X'
#include <stdlib.h>
#include <string.h>
static char *kept[8];
static char *small(void) { return strcpy(malloc(100), "</script><b>"); }
static char *big(void) { return memset(malloc(3000), 1, 3000); }
static void both(int i) { small(); kept[i] = big(); }
int main(void) { for (int i = 0; i < 8; i++) both(i); memset(kept, 0, sizeof(kept)); return 0; }
X
gcc -O0 -g -o p p.c || fail gcc
"$REC" -o t ./p || fail rec
"$HINDSIGHT" memprof -q --flame=flame.html t >out 2>err || fail "flame: $(cat err)"
"$HINDSIGHT" leaks -q --html=leaks.html t >out 2>err || fail "leaks: $(cat err)"
for mark in CSS DATA JS FLAME; do ! grep -qE "/\*$mark\*/|<!--$mark-->" flame.html leaks.html || fail "$mark stands in a page"; done
command -v chromium >/dev/null || skip 'no chromium'
python3 - <<'X'
def clicks(name, script):
	open("clicked_" + name, "w").write(open(name).read() + "<script>setTimeout(() => { const seen = {};" + script + """
document.title = "SEEN" + JSON.stringify(seen) + "SEEN"; }, 300);</script>""")
clicks("flame.html", """
const boxes = () => [...document.querySelectorAll("#flame button")].map(b => b.title), info = () => $("info").textContent;
const change = (id, value, what) => { $(id).value = value; $(id).dispatchEvent(new Event(what)); };
seen.title = $("title").textContent; seen.columns = [...$("column").options].map(o => o.textContent);
change("column", seen.columns.indexOf("alloc_space"), "change");
seen.boxes = boxes(); seen.all = info();
change("search", "^big", "input"); seen.found = info(); seen.hits = document.querySelectorAll("#flame .hit").length;
change("search", "(", "input"); seen.broken = info(); change("search", "", "input");
[...document.querySelectorAll("#flame button")].find(b => b.textContent.includes("small")).click();
seen.small = boxes(); seen.small_info = info(); seen.outer = document.querySelectorAll("#flame .outer").length;
$("all").click(); seen.again = boxes();
change("column", seen.columns.indexOf("alloc_objects"), "change"); seen.objects = info();
""")
clicks("leaks.html", """
seen.summary = $("summary").textContent; seen.bars = document.querySelectorAll(".node").length;
const entry = i => $("leak" + i);
seen.closed = entry(0).open; document.querySelector(".node").dispatchEvent(new MouseEvent("click")); seen.open = entry(0).open; seen.text = entry(0).textContent;
document.querySelectorAll(".node")[1].dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" })); seen.by_key = entry(1).open;
seen.inner = Boolean(document.querySelector("iframe").contentDocument.querySelector("#flame button"));
""")
X
root=; [ "$(id -u)" != 0 ] || root="--no-sandbox --no-zygote"
for page in flame leaks; do
	# shellcheck disable=SC2086
	HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$PWD/profile" \
		--virtual-time-budget=3000 --dump-dom "file://$PWD/clicked_$page.html" >$page.dom 2>err || skip 'the browser does not run here'
	[ -s $page.dom ] || skip 'the browser says nothing'
done
python3 - <<'X' || fail 'a page does not do as it should'
import html, json
def seen(page):
	dom = open(page + ".dom").read()
	assert "SEEN" in dom, (page, dom[:300])
	return json.loads(html.unescape(dom.split("SEEN")[1]))
s = seen("flame")
print(s)
assert s["all"] == "24,800 bytes" == s["broken"], s
assert s["found"] == "matched: 24,000 bytes, 96.77%" and s["hits"] == 1, s
assert len(s["small"]) < len(s["boxes"]) and s["small_info"] == "800 bytes" and s["outer"] >= 3 and s["again"] == s["boxes"], s
assert s["objects"] == "16", s
s = seen("leaks")
print(s)
assert "16 cannot be reached (24,800 bytes)" in s["summary"] and s["bars"] >= 2, s
assert not s["closed"] and s["open"] and s["by_key"] and "both" in s["text"] and "lost" in s["text"] and s["inner"], s
X
exit 0
