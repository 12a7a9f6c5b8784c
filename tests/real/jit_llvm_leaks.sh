#!/bin/bash
# test: timeout=120
# Leaks in code of LLVM's JITs: found in seconds, though libLLVM has 50,000 names of C++, and named by function and line.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need clang++-14 lli-14 python3
cat >p.cc <<'X2'
#include <stdlib.h>
#include <unistd.h>
struct node { node *next; char text[100]; };
static node *head;
template<int N> __attribute__((noinline)) node *make(int k) { node *n = (node *)calloc(1, sizeof(node) + N * 1000); n->text[0] = k; n->next = nullptr; return n; }
template<int N> __attribute__((noinline)) void build(int k) { for (int i = 0; i < k; i++) { node *n = make<N>(i); if (i % 2) { n->next = head; head = n; } } getppid(); }
int main() { build<1>(60); build<2>(60); build<3>(60); getppid(); _exit(0); }
X2
clang++-14 -O1 -g -S -emit-llvm -o p.ll p.cc || fail clang
for kind in orc mcjit; do
	"$REC" -o t lli-14 --jit-kind=$kind p.ll || fail "rec $kind"
	"$HINDSIGHT" leaks -q --json --moments=10 t >list 2>err || fail "$kind: leaks: $(cat err)"
	python3 - <<'X2' || fail "$kind: $(cut -c1-300 list)"
import json
lost = [l for l in json.load(open("list"))["leaks"] if l["kind"] == "lost"]
ours = [l for l in lost if (l["alloc"]["stack"][0]["function"] or "").startswith("make<")]
# 90 are lost; what LLVM left in its heap and on the stack may look like pointers to some
assert sum(l["blocks"] for l in ours) >= 10, lost
for l in ours:
    a, b = l["alloc"]["stack"][:2]
    n = l["bytes"] // l["blocks"] // 1000
    assert a["function"] == f"make<{n}>" and a["line"] == 5 and a["file"].endswith("p.cc"), a
    assert b["function"] == f"build<{n}>" and b["line"] == 6 and b["file"].endswith("p.cc"), b
    assert any(f["function"] == "main" and f["line"] == 7 for f in l["alloc"]["stack"]), l["alloc"]["stack"]
assert any(l["lost_at"] and l["lost_at"]["stack"] and (l["lost_at"]["stack"][0]["function"] or "").startswith(("make<", "build<")) for l in ours), ours
X2
	rm -rf t
done
exit 0
