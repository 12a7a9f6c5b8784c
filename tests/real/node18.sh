#!/bin/bash
# test: timeout=200
# Stacks and profiles of node 18, Debian's, whose V8 (10.2) lies in a library.  Its packages are unpacked here, not installed; what
# it wants in /usr/share it gets there in a mount namespace of its own.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need apt-get dpkg unshare python3
[ "$(id -u)" = 0 ] || skip 'mounts, so it needs root'
for p in nodejs=18.20.4+dfsg-1~deb12u3 libnode108 libuv1 libc-ares2 node-acorn node-cjs-module-lexer node-undici node-busboy; do
	timeout 60 apt-get -q download "$p" >>apt 2>&1 || skip "no package $p from here"
	dpkg -x "${p%%=*}"_*.deb root || skip "$p cannot be unpacked"
done
cat >run.sh <<'X2'
mount -t overlay overlay -o "lowerdir=$PWD/root/usr/share:/usr/share" /usr/share || exit 77
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu
exec "$@"
X2
node18() {
	unshare -m bash run.sh "$@"
}
node18 root/usr/bin/node -e 0 2>err || skip "node 18 does not run here: $(head -1 err)"
sed -n '/^cat >say.js/,/^END/p' "$ROOT/tests/cli/bt_node.sh" | sed '1d;$d' >say.js
for options in '' --no-opt '--always-sparkplug --no-opt'; do
	rm -rf t
	# shellcheck disable=SC2086
	node18 "$REC" -o t root/usr/bin/node $options say.js 2>said || fail "rec: $(tail -3 said)"
	"$HINDSIGHT" bt --json --writes=2 t >found || fail 'bt'
	python3 "$ROOT/tests/cli/bt_compare.py" node said found >out || fail "node $options: $(cat out)"
	grep -Eq '^[0-9]{3,} stacks, 0 wrong' out || fail "$(cat out)"
done
cat >work.js <<'X2'
'use strict';
function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * i) % 1000003; return s; }
function mid(o, n) { return leaf(n) + o.k; }
class A { constructor(k) { this.k = k; } run(n) { let t = 0; for (let i = 0; i < n; i++) t += mid(this, 200); return t; } }
function objs(n) { const a = []; for (let i = 0; i < n; i++) a.push({ i, s: 'x' + i }); return a.sort((p, q) => p.s < q.s ? -1 : 1).length; }
async function as(n) { let s = 0; for (let i = 0; i < n; i++) { await null; s += leaf(100); } return s; }
let t = 0;
for (let r = 0; r < 25; r++) t += new A(3).run(2000) + objs(2000);
as(3000).then(x => { if (!(t + x)) throw 0; });
X2
rm -rf t
node18 "$REC" -o t root/usr/bin/node work.js || fail 'rec work.js'
"$HINDSIGHT" profile -q --passes=2 --json t >p.json || fail 'profile'
python3 - <<'X2' || fail "profile: $(cut -c1-300 p.json)"
import json
j = json.load(open("p.json"))
assert j["complete"] >= 0.99 * j["samples"] > 100, (j["complete"], j["samples"], j["incomplete"])
names = {(f.get("function"), f.get("line")) for f in j["frames"]}
assert {("leaf", 2), ("mid", 3), ("objs", 5)} <= names, names
X2
exit 0
