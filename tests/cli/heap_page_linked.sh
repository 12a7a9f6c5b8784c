#!/bin/bash
# test: timeout=120
# hindsight heap --html of structures that are linked: each object is written once, and lists and trees are followed in the page.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc python3
cat >t.c <<'X'
#include <stdlib.h>
#include <unistd.h>
struct link { struct link *next, *prev; };
struct tree { struct tree *l, *r; int key; };
struct pair { struct pair *left, *right; int key; };
struct vertex { struct vertex *next; int number; struct edge *edges; };
struct edge { struct edge *next; struct vertex *from, *to; };
struct task { int pid; struct link all; };
struct world { struct tree *tree; struct pair *pairs; struct vertex *vertices; struct link tasks; } *world;
static unsigned seed = 1;
static unsigned any(unsigned n) { seed = seed * 1103515245 + 12345; return (seed >> 8) % n; }
int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]);
	struct vertex **v = calloc(n, sizeof(*v));
	world = calloc(1, sizeof(*world));
	world->tasks.next = world->tasks.prev = &world->tasks;
	for (int i = 0; i < n; i++) {
		struct tree **t = &world->tree;
		struct pair **p = &world->pairs;
		struct task *k = calloc(1, sizeof(*k));
		int key = any(1000000);
		while (*t) t = key < (*t)->key ? &(*t)->l : &(*t)->r;
		while (*p) p = key < (*p)->key ? &(*p)->left : &(*p)->right;
		*t = calloc(1, sizeof(**t));
		*p = calloc(1, sizeof(**p));
		(*t)->key = (*p)->key = key;
		v[i] = calloc(1, sizeof(**v));
		v[i]->number = i;
		v[i]->next = world->vertices;
		world->vertices = v[i];
		k->pid = i;
		k->all.next = &world->tasks;
		k->all.prev = world->tasks.prev;
		k->all.prev->next = &k->all;
		world->tasks.prev = &k->all;
	}
	for (int i = 0; i < 2 * n; i++) {
		struct edge *e = calloc(1, sizeof(*e));
		e->from = v[i / 2];
		e->to = v[any(n)];
		e->next = e->from->edges;
		e->from->edges = e;
	}
	free(v);
	if (write(1, "", 0)) return 1;
	_exit(0);
}
X
gcc -g -O1 -o t t.c || fail 'compiler'
for n in 300 3000; do
	"$REC" -o t$n ./t $n >/dev/null 2>&1 || fail 'rec'
	start=$(date +%s%N)
	"$HINDSIGHT" heap -q --html=$n.html t$n world >out 2>err || fail "html: $(cat err)"
	echo $(($(date +%s%N) - start)) >$n.ns
done
python3 - <<'X' || fail "pages: $(cat 300.ns 3000.ns) $(stat -c %s 300.html 3000.html)"
import json, os
small, big = os.path.getsize("300.html"), os.path.getsize("3000.html")
assert big < 10 * small and big < 3000 * 7 * 600, (small, big)
assert int(open("3000.ns").read()) < 20e9
d = json.loads(open("3000.html").read().split('id="data">')[1].split("</script>")[0])
kind = {}
for o in d["objects"]:
	kind.setdefault(d["names"][o[2]], []).append(o)
assert [len(kind["struct " + k]) for k in ("tree", "pair", "task", "vertex", "edge")] == [3000, 3000, 3000, 3000, 6000], {k: len(v) for k, v in kind.items()}
for k in ("tree", "pair", "task", "edge"):	# nothing of others
	assert all(len(json.dumps(o)) < 500 for o in kind["struct " + k]), max(kind["struct " + k], key=lambda o: len(json.dumps(o)))
rows = {d["names"][r[0]]: r for r in kind["struct world"][0][3][0][1]}
assert rows["tree"][8] == [3000, 0, 8] and rows["vertices"][8] == [3000, 0] and rows["tasks"][8] == [3000, 0], rows
assert "list of 3000 struct task by .all" in rows["tasks"][2] and rows["tree"][2].endswith("tree of 3000"), rows
X
command -v chromium >/dev/null || skip 'chromium is not installed: the page was not looked at'
cat >click.js <<'X'
const log = {}, row = (c, text) => [...columns[c].element.querySelectorAll(".row")].find(r => r.querySelector(".name").textContent === text);
const click = e => e.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
click(row(0, "world"));
for (const name of ["tree", "pairs", "vertices", "tasks"]) {
	click(row(1, name));
	log[name] = columns[2].items.map(x => x.value);
}
click(row(2, "[7]"));
log.task = columns[3].title;
document.body.dataset.log = JSON.stringify(log);
X
python3 - <<'X'
page = open("300.html").read()
open("q.html", "w").write(page.replace("</html>", "<script>window.onerror = (m, s, l) => { document.body.dataset.error = m + ' ' + l; };</script><script>" + open("click.js").read() + "</script></html>"))
X
root=; [ "$(id -u)" != 0 ] || root=--no-sandbox
HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$PWD/profile" --virtual-time-budget=4000 --dump-dom "file://$PWD/q.html" >dom 2>err || skip 'chromium does not run here'
[ -s dom ] || skip 'chromium does not run here'
python3 - <<'X' || fail "the page: $(cat said)"
import html, json, re
dom = open("dom").read()
said = open("said", "w")
m = re.search(r'data-error="([^"]*)"', dom)
m and print(html.unescape(m[1]), file=said)
log = json.loads(html.unescape(re.search(r'data-log="([^"]*)"', dom)[1]))
print({k: v[:3] for k, v in log.items()}, file=said, flush=True)
keys = [int(re.search(r"key (\d+)", v)[1]) for v in log["tree"]]
assert len(keys) == 300 and keys == sorted(keys)
assert [int(re.search(r"key (\d+)", v)[1]) for v in log["pairs"]] == keys
assert [int(re.search(r"number (\d+)", v)[1]) for v in log["vertices"]] == list(range(299, -1, -1))
assert [int(re.search(r"pid (\d+)", v)[1]) for v in log["tasks"]] == list(range(300))
assert log["task"].startswith("struct task 0x")
X
exit 0
