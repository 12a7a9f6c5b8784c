#!/bin/bash
# test: timeout=240
# Code of LLVM's JITs (ORC, lazy ORC, MCJIT, as lli makes it): named in gdb's stacks forwards and backwards, and by `hindsight jit'
# while it is there, not before.  MCJIT tells perf the same code under its mangled name: it is one function.
. "$LIB"
need clang++-14 lli-14 gdb python3
cat >p.cc <<'X'
#include <stdlib.h>
#include <unistd.h>
struct node { node *next; char text[100]; };
static node *head;
template<int N> __attribute__((noinline)) node *make(int k) { node *n = (node *)malloc(sizeof(node) + N * 1000); n->text[0] = k; n->next = nullptr; return n; }
template<int N> __attribute__((noinline)) void build(int k) { for (int i = 0; i < k; i++) { node *n = make<N>(i); if (i % 2) { n->next = head; head = n; } } getppid(); }
int main() { build<1>(4); build<2>(6); build<3>(8); _exit(0); }
X
clang++-14 -O1 -g -S -emit-llvm -o p.ll p.cc || fail clang
printf 'set pagination off\nbreak getppid\ncontinue\necho \\n@1\\n\nbt 4\ncontinue\necho \\n@2\\n\nbt 4\nreverse-continue\necho \\n@3\\n\nbt 4\n' >script
for kind in orc orc-lazy mcjit; do
	"$REC" -o t lli-14 --jit-kind=$kind p.ll || fail "rec $kind"
	"$HINDSIGHT" jit -q --json --history t >list || fail "$kind: jit"
	read -r addr birth < <(python3 -c '
import json
f = [x for x in json.load(open("list"))["functions"] if x["name"] == "build<2>"]
assert len(f) == 1 and f[0]["origin"] == "object", f
print(hex(int(f[0]["address"], 16) + 1), f[0]["birth"])')
	[ -n "$addr" ] || fail "$kind: $(cut -c1-300 list)"
	"$HINDSIGHT" jit -q --at="$birth" t "$addr" | grep -q 'build<2> at .*p.cc:6' || fail "$kind: no line"
	"$HINDSIGHT" jit -q --at=10 t "$addr" | grep -q 'build' && fail "$kind: named before it is there"
	timeout 60 "$REPLAY" --batch -x script t >log 2>&1 || fail "$kind: replay: $(tail -3 log)"
	for n in 1 2 3; do
		sed -n "/^@$n\$/,/^@$((n + 1))\$/p" log >part
		grep -q "^#1 .* in build<$((n == 2 ? 2 : 1))> (k=.*) at p.cc:6" part || fail "$kind, stop $n: $(cat part)"
		grep -q '^#2 .* in main () at p.cc:7' part || fail "$kind, stop $n: $(cat part)"
	done
	rm -rf t
done
exit 0
