#!/bin/bash
# test: timeout=90
# hindsight bt: stacks of JavaScript equal what Error().stack says, interpreted, baseline and optimised with inlined calls.
. "$LIB"
need node python3
case $(node -p process.versions.v8) in 1[01].*) ;; *) skip "node $(node -v): V8 10 and 11 are known" ;; esac
cat >say.js <<'END'
'use strict';
Error.stackTraceLimit = 100;
const fs = require('fs');
function say() { fs.writeSync(2, new Error('x').stack + '\n'); }
function leaf(i) { if (i % 400 === 0) say(); return i * 2; }
function mid(i) { return leaf(i) + leaf(i + 1); }
class Pool { get(i) { return mid(i); } static make(i) { return new Pool().get(i); } }
const arrow = (i) => { return Pool.make(i); };
const o = { meth(i) { return [1].map(() => arrow(i))[0]; },
	    get prop() { return mid(400); } };
let s = 0;
function main(n) {
	for (let i = 0; i < n; i++) {
		s += o.meth(i);
		s += arrow(i);
	}
}
main(20000);
s += o.prop;
(function () { leaf(400); })();
(function named() {
	[3, 2].sort((a, b) => {
		leaf(400);
		return a - b;
	});
})();
END
for options in '' --no-opt '--always-sparkplug --no-opt'; do
	rm -rf t
	# shellcheck disable=SC2086
	"$REC" -o t node $options say.js 2>said || fail "rec: $(tail -3 said)"
	"$HINDSIGHT" bt --json --writes=2 t >found || fail 'bt'
	python3 "$ROOT/tests/cli/bt_compare.py" node said found >out || fail "node $options: $(cat out)"
	grep -Eq '^[0-9]{2,} stacks, 0 wrong' out || fail "node $options: $(cat out)"
done
