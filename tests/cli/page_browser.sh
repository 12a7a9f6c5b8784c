#!/bin/bash
# test: timeout=180
# Every page that a command writes: a browser runs its script without an error, and shows something.
. "$LIB"
need gcc python3
command -v chromium >/dev/null || skip 'no chromium'
m=$ROOT/tests/golden/memprof-jitoff.bin
cp "$ROOT/tests/cli/profile_loops.c" loops.c
gcc -O1 -g -pthread -o loops "$PWD/loops.c" || skip 'no compiler'
cat >lost.c <<'E'
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char name[24]; };
struct node *top, *held;
static struct node *add(struct node *to, const char *name) { struct node *n = malloc(sizeof(*n)); n->next = to; strcpy(n->name, name); return n; }
int main(void) { for (int i = 0; i < 5; i++) top = add(top, "</script><b>"); top = NULL; held = add(0, "held"); return 0; }
E
gcc -O0 -g -o lost "$PWD/lost.c" || fail gcc
"$REC" -o tp ./loops loops 10000000 >/dev/null || fail rec
"$REC" -o tl ./lost || fail rec
h() { "$HINDSIGHT" "$@" >out 2>err || fail "$*: $(cat err)"; }
h profile -q --html=profile.html --flame=profile_flame.html tp
h leaks -q --html=leaks.html --flame=leaks_flame.html tl
h leaks -q --html=no_leaks.html tp
h memprof -q --html=memprof.html --flame=memprof_flame.html tl
h memprof --read="$m" --html=memprof_read.html
h heap --read="$ROOT/tests/golden/audit.log" --html=heap_log.html
h heap -q --html=heap.html tl top
h heap -q --html=heap_exit.html --at=exit tl
h heap -q --html=heap_some.html --at=20,exit tl held
h heap -q --html=heap_on.html --on=add:name=name tl
root=; [ "$(id -u)" != 0 ] || root="--no-sandbox --no-zygote"
python3 - <<'X2'
import glob
for f in glob.glob("*.html"):
	p = open(f).read()
	at = p.index("<script")
	open("look_" + f, "w").write(p[:at] + "<script>window.onerror = (m, s, l) => { document.documentElement.dataset.error = m + ' ' + l; };</script>" + p[at:])
X2
for page in look_*.html; do
	# shellcheck disable=SC2086
	HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --disable-gpu --no-first-run --disable-background-networking --enable-logging=stderr --v=0 \
		--user-data-dir="$PWD/profile" --virtual-time-budget=3000 --dump-dom "file://$PWD/$page" >dom 2>console || skip 'the browser does not run here'
	[ -s dom ] || skip 'the browser says nothing'
	! grep -E 'CONSOLE.*(Error|Uncaught)' console || fail "$page: $(grep CONSOLE console | head -3)"
	python3 - "$page" <<'X2' || fail "$page: the browser does not show it"
import html, re, sys
dom = open("dom").read()
said = re.search(r'data-error="([^"]*)"', dom)
assert not said, html.unescape(said[1])
text = re.sub(r"<(script|style|title)\b.*?</\1>", "", dom, flags=re.S)
text = re.sub(r"<[^>]*>", " ", text).split()
assert len(text) > 8, text
if "leaks.html" in sys.argv[1] and "no_" not in sys.argv[1]:
	assert "add at lost.c:5" in dom and dom.count("<details") >= 1 and "<rect" in dom, dom[:2000]
X2
done
exit 0
