#!/bin/bash
# test: timeout=150
# What leaks, memprof, profile and jit --symbolize write for pprof, read by npm's pprof-format: nothing dangles, the samples and names are those that our
# own collapsed stacks have, and what it writes again go's pprof reads as before.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need gcc node
package=$("$ROOT/scripts/npm.sh" pprof-format) || { rc=$?; [ $rc = 77 ] && skip "$package"; fail "npm.sh: $package"; }
cp "$ROOT/tests/cli/jit_make.inc.c" make.c
cat >spin.c <<'X2'
/* inlined calls and shared lines: their order in a location is told apart */
#include <stdlib.h>
static inline __attribute__((always_inline)) unsigned long deep(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum = sum * 31 + i;
	return sum;
}
static inline __attribute__((always_inline)) unsigned long middle(unsigned long n) { return deep(n) + 1; }
__attribute__((noinline)) unsigned long outer(unsigned long n) { return middle(n) * 2; }
int main(void)
{
	volatile unsigned long all = 0;

	for (int i = 0; i < 100; i++)
		all += outer(1000000);
	return 0;
}
X2
cat >read.js <<'X2'
// read.js PACKAGE IN COLUMN OUT - IN's samples as collapsed stacks of COLUMN; what was read is written to OUT, not compressed
const [, , dir, file, column, out] = process.argv;
const { Profile } = require(dir + '/dist/commonjs/index.js');
const zlib = require('zlib'), fs = require('fs'), assert = require('assert');
const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(file)));
const text = (i) => { const s = p.stringTable.strings[Number(i)]; assert(s !== undefined, `string ${i}`); return s; };
const byId = (list) => { const m = new Map(list.map((x) => [Number(x.id), x])); assert(!m.has(0) && m.size === list.length); return m; };
const mappings = byId(p.mapping), locations = byId(p.location), functions = byId(p.function);
assert.strictEqual(text(0), '');
const types = p.sampleType.map((t) => text(t.type));
assert(types.includes(text(p.defaultSampleType)) || !Number(p.defaultSampleType), 'default type');
const at = types.indexOf(column);
assert(at >= 0, types.join(' '));
const sums = new Map();
for (const s of p.sample) {
	assert.strictEqual(s.value.length, types.length);
	for (const l of s.label) { assert(text(l.key)); text(l.str); text(l.numUnit); }
	const names = [];
	for (const id of s.locationId) {
		const l = locations.get(Number(id));
		assert(l, `location ${id}`);
		assert(!Number(l.mappingId) || mappings.has(Number(l.mappingId)), `mapping ${l.mappingId}`);
		for (const line of l.line) {
			const f = functions.get(Number(line.functionId));
			assert(f && text(f.name) && text(f.filename) !== undefined);
			names.push(text(f.name));
		}
		if (l.line.length === 0)
			names.push('0x' + BigInt(l.address).toString(16));
	}
	const stack = names.reverse().join(';');
	sums.set(stack, (sums.get(stack) || 0n) + BigInt(s.value[at]));
}
for (const m of p.mapping) { text(m.filename); text(m.buildId); assert(BigInt(m.memoryStart) <= BigInt(m.memoryLimit)); }
for (const [stack, n] of sums)
	if (n)
		console.log(`${stack} ${n}`);
fs.writeFileSync(out, p.encode());
X2
gcc -c -g -O1 -o make.o make.c && gcc -g -O1 -o spin spin.c || fail gcc
library=$(ldd "$HINDSIGHT" | sed -n 's/.*libz\.so[^ ]* => \(.*\) (.*/\1/p')
"$REC" -o t "$BUILD/tests/cli/jit_heap" make.o "$library" prof.heap >out || fail 'rec'
"$REC" -o s ./spin || fail 'rec spin'
check() {	# check WHAT FILE COLUMN COLLAPSED
	node read.js "$package" "$2" "$3" again.pb >got 2>err || fail "$1: $(grep -m1 -A3 Error err)"
	[ -s got ] || fail "$1: no sample"
	diff <(sort "$4") <(sort got) >differ || fail "$1: $(head -5 differ | tr '\n' '|')"
	command -v go >/dev/null || return 0
	HOME=$PWD go tool pprof -raw "$2" >raw 2>err || fail "$1: go: $(cat err)"
	HOME=$PWD go tool pprof -raw again.pb >raw2 2>err || fail "$1: go, written again: $(cat err)"
	same "$1: written again" raw raw2
}
"$HINDSIGHT" profile -q --rate=2000 --value=samples --pprof=p.gz --collapsed=c s >out 2>err || fail "profile: $(cat err)"
check profile p.gz samples c
grep -q '^_start;.*main;outer;middle;deep [0-9]*$' got || fail "profile: $(cat got)"
for c in leaks:space memprof:alloc_space; do
	v=${c#*:} c=${c%:*}
	"$HINDSIGHT" $c -q --value=$v --pprof=p.gz --collapsed=c t >out 2>err || fail "$c: $(cat err)"
	check $c p.gz $v c
	grep -q ';make;inner' got || fail "$c: $(cat got)"
done
"$HINDSIGHT" jit -q --symbolize=prof.heap --collapsed=c t || fail 'jit'
"$HINDSIGHT" jit -q --symbolize=prof.heap t >p.gz || fail 'jit'
check 'jit --symbolize' p.gz inuse_space c
grep -q '^main;make;inner 6002$' got || fail "jit: $(cat got)"
exit 0
