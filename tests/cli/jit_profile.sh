#!/bin/bash
# test: timeout=180
# hindsight jit --symbolize: a text heap profile and a profile.proto that the recorded program's run wrote; JIT code behind a library; go's pprof reads the
# result; wrong input is one line and 125.
. "$LIB"
need gcc python3 gunzip
cp "$ROOT/tests/cli/jit_make.inc.c" make.c
gcc -c -g -O1 -o make.o make.c
library=$(ldd "$HINDSIGHT" | sed -n 's/.*libz\.so[^ ]* => \(.*\) (.*/\1/p')
"$REC" -o t "$BUILD/tests/cli/jit_heap" make.o "$library" prof.heap >out || fail 'rec'
jit() { "$HINDSIGHT" jit -q "$@" t; }

jit --symbolize=prof.heap --collapsed=- >collapsed || fail 'symbolize'
[ "$(cat collapsed)" = 'main;make;inner 6002' ] || fail "collapsed: $(cat collapsed)"
jit --symbolize=prof.heap --value=inuse_objects --collapsed=- >collapsed
[ "$(cat collapsed)" = 'main;make;inner 4' ] || fail "objects: $(cat collapsed)"
jit --symbolize=prof.heap >p.pb.gz || fail 'pprof'
jit --symbolize=prof.heap --dot=g.dot --svg=g.svg --flame=g.html || fail 'drawings'
grep -q 'label="make\\n0 bytes of 6,002 bytes (100.0%)"' g.dot || fail "dot: $(cat g.dot)"
grep -q '>make</text>' g.svg || fail 'svg'
python3 -c '
import json, xml.dom.minidom
xml.dom.minidom.parse("g.svg")
page = open("g.html").read()
d = json.loads(page.split("id=\"data\">")[1].split("</script>")[0])
assert [t[0] for t in d["types"]] == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"], d["types"]
assert any(d["names"][n[0]] == "make" and n[2] == 1 and n[3] == [4, 6002, 4, 6002] for n in d["nodes"]), d' || fail 'page'

# profile.proto in, packed or not, gives the same
gunzip -c p.pb.gz >p.pb
for f in p.pb p.pb.gz; do
	jit --symbolize=$f --collapsed=- >collapsed || fail "symbolize $f"
	[ "$(cat collapsed)" = 'main;make;inner 6002' ] || fail "$f: $(cat collapsed)"
done

if command -v go >/dev/null; then
	HOME=$PWD go tool pprof -raw p.pb.gz >raw 2>err || fail "go tool pprof: $(cat err)"
	[ "$(grep -c 'inner .*make.c:4' raw)" = 2 ] || fail "raw: $(cat raw)"
	[ "$(grep -c ' 0x[0-9a-f]* M=[0-9]* main ' raw)" = 2 ] || fail "main: $(cat raw)"
	grep -q '0x0/0x0/0x0 \[jit\]' raw || fail "mapping: $(cat raw)"
	! grep -q libz raw || fail "a library's name: $(cat raw)"
	grep -q 'inuse_space/bytes\[dflt\]' raw || fail "types: $(cat raw)"
	# one that it has joined the mappings of: JIT code is called libz there
	HOME=$PWD go tool pprof -proto -output=joined.pb.gz prof.heap >/dev/null 2>&1 || fail 'go tool pprof -proto'
	jit --symbolize=joined.pb.gz --collapsed=- >collapsed || fail 'joined'
	[ "$(cat collapsed)" = 'main;make;inner 6002' ] || fail "joined: $(cat collapsed)"
fi

# another run: its libraries lie elsewhere, and JIT code is not guessed at
sed -E 's/\b(0x)?7f([0-9a-f]{10})\b/\17e\2/g; s/\b(0x)?5([56][0-9a-f]{10})\b/\14\2/g' prof.heap >moved.heap
jit --symbolize=moved.heap --collapsed=- >collapsed 2>err || fail 'moved'
grep -q 'another run' err || fail "moved: $(cat err)"
grep -q '^main;0x7e[0-9a-f]*' collapsed || fail "moved: $(cat collapsed)"
! grep -q make collapsed || fail "moved: $(cat collapsed)"

refused() {
	"$HINDSIGHT" jit -q --pprof=- "$@" t >/dev/null 2>err; rc=$?
	[ $rc = 125 ] || fail "$*: exit $rc"
	[ "$(wc -l <err)" = 1 ] || fail "$*: $(cat err)"
}
head -c 300 p.pb.gz >cut; refused --symbolize=cut
head -c 300 p.pb >cut; refused --symbolize=cut
printf 'heap profile: 1000000000: 5 [1: 5] @ heapprofile\n 1: zz' >lies; refused --symbolize=lies
printf '\022\377\377\377\377\017' >lies; refused --symbolize=lies
: >empty; refused --symbolize=empty
refused --symbolize=nowhere
refused --symbolize=prof.heap --value=nothing
python3 -c '
import gzip
with gzip.open("bomb", "wb", 1) as f:
    for _ in range(1000): f.write(b"\x12\0" * 1000000)'
(ulimit -v 1500000; refused --symbolize=bomb) || exit 1
