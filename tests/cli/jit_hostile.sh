#!/bin/bash
# test: timeout=100
# Programs that say untrue things of JIT code, and indexes that are cut or lie: what is true in them is named, all ends soon and in little
# memory, and of a thousand lies one line is said.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need gcc python3
printf 'int square(int x)\n{\n\treturn x * x;\n}\n' >square.c
gcc -c -g -O1 -gz=none -o square.o square.c
cat >make.py <<'X2'
import struct
def dump(name, *records):
    out = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 0, 0)
    for kind, body, size in records:
        out += struct.pack("<IIQ", kind, 16 + len(body) if size is None else size, 1) + body
    open(name, "wb").write(out)
def load(addr, size, name, code=b"", total=None):
    return 0, struct.pack("<IIQQQQ", 1, 1, addr, addr, size, 1) + name + b"\0" + code, total
def move(old, new, size):
    return 1, struct.pack("<IIQQQQQ", 1, 1, 0, old, new, size, 1), None

# a perf map: cut in a line, sizes that lie, ranges that overlap, controls in names, a line without end
f = b"7000000001000 100 first\n7000000001080 100 second\nffffffffffffff00 200 wraps\n7000000002000 0 empty\n7000000003000 ffffffffffffffff vast\n"
f += b"zz 10 no number\n70000000040000000000 10 too long\n7000000005000 10\n\n   \n7000000006000 10 \x1b[31mred\x07\n" + b"-1 5 minus\n7000000008000 40 good\n"
f += b"7000000009000 10 " + b"x" * 200000 + b"\n700000000a000 40 last\n700000000b000 40 cut"
open("map", "wb").write(f)
# jitdump: overlapping records, moves of nothing and onto others, a record that ends behind the file
A = 0x7000000100000
dump("overlap", load(A, 0x100, b"one"), load(A + 0x80, 0x100, b"two"), load(A + 0x100, 0x10, b"three"), move(0x1234, A + 0x1000, 16), move(A + 0x80, A + 0x2000, 0x100),
     move(A + 0x2000, A + 0x2000, 0x100), load(A + 0x3000, 2**64 - 1, b"wraps"), load(A + 0x4000, 2**40, b"vast"), load(A + 0x4000, 16, b"inside"), load(A + 0x9000, 16, b"cut", b"", 100000))
dump("short", load(A + 0x8000, 16, b"before"), (0, b"", 8), load(A + 0x8100, 16, b"after"))
dump("nameless", (0, struct.pack("<IIQQQQ", 1, 1, A, A, 16, 1) + b"no end", None), (1, b"1234", None), (2, struct.pack("<QQ", A, 2**62) + b"x" * 20, None), (9, b"?", None),
     load(A + 0x9000, 16, b"behind"))
open("nodump", "wb").write(b"DTij" + bytes(100))

good = bytearray(open("square.o", "rb").read())
shoff, = struct.unpack_from("<Q", good, 0x28)
shnum, shstrndx = struct.unpack_from("<HH", good, 0x3c)
sections = [list(struct.unpack_from("<IIQQQQIIQQ", good, shoff + 64 * i)) for i in range(shnum)]
names = good[sections[shstrndx][4]:]
index = {bytes(names[s[0]:names.index(0, s[0])]): i for i, s in enumerate(sections)}
CODE = 0x7000000200000
number = 0
def obj(name=None, head=(), **changes):
    """square.o at an address of its own; changes: section -> {field: value}; head: (offset, format, value)"""
    global number
    out = bytearray(good)
    s = [list(x) for x in sections]
    s[index[b".text"]][3] = CODE + 0x1000 * number
    for section, fields in changes.items():
        for field, value in fields.items():
            s[index["." .encode() + section.encode()]]["name type flags addr offset size link info align entsize".split().index(field)] = value
    for i, x in enumerate(s):
        struct.pack_into("<IIQQQQIIQQ", out, shoff + 64 * i, *x)
    for at, form, value in head:
        struct.pack_into(form, out, at, value)
    open(name or f"object{number}", "wb").write(out)
    number += 1
BIG = 2**63
obj("good")
obj(head=[(0x28, "<Q", 2**62)])				# section headers far away
obj(head=[(0x28, "<Q", len(good) - 10)])
obj(head=[(0x3c, "<H", 0xffff)])
obj(head=[(0x3c, "<H", 0), (shoff + 32, "<Q", 2**40)])	# their number is in the first one's size
obj(head=[(0x3a, "<H", 1)])
obj(head=[(0x3e, "<H", 0xffff)])
obj(head=[(0x36, "<H", 0), (0x20, "<Q", 64), (0x38, "<H", 0xffff)])
obj(head=[(0, "<I", 0)])
obj(text={"size": BIG})
obj(text={"size": 2**64 - 1, "addr": 2**64 - 16})
obj(text={"addr": 2**64 - 1})
obj(text={"offset": 2**62})
obj(symtab={"size": BIG})
obj(symtab={"link": 0xffffffff})
obj(symtab={"entsize": 0})
obj(symtab={"entsize": 1})
obj(symtab={"link": index[b".symtab"]})
obj(strtab={"size": 1})
obj(debug_info={"flags": 0x800})			# compressed, it says
obj(debug_info={"size": 2**40})
obj(debug_abbrev={"size": 1})
obj(debug_line={"offset": 3})
obj(debug_str={"size": 0})
obj(**{"rela.debug_info": {"info": 0xffffffff}})
obj(**{"rela.debug_info": {"link": 77}})
obj(**{"rela.debug_info": {"entsize": 0}})
obj(**{"rela.debug_info": {"size": BIG}})
at = sections[index[b".rela.debug_info"]][4]
obj(head=[(at, "<Q", 2**63)])				# where to relocate
obj(head=[(at + 8, "<Q", 0xffffffff00000001)])		# the symbol
at = sections[index[b".symtab"]][4]
obj(head=[(at + 24 * i, "<I", 0xfffffff0) for i in range(1, 8)])		# names of symbols
obj(head=[(at + 24 * i + 16, "<Q", 2**64 - 1) for i in range(1, 8)])	# their sizes
obj(head=[(at + 24 * i + 8, "<Q", 2**63) for i in range(1, 8)])		# and values
obj(eh_frame={"size": 3})
obj(head=[(sections[index[b".eh_frame"]][4], "<I", 0xffffffff), (sections[index[b".eh_frame"]][4] + 4, "<Q", 2**63)])
open("tiny", "wb").write(good[:70])
open("empty", "wb").write(b"\x7fELF")
obj("lastgood")
X2
python3 make.py || fail 'make.py'
liar="$BUILD/tests/cli/jit_liar"
# what is true is named, what is not ends in a line at most; 1 GB is enough
objects=; for f in object*; do objects+=" object $f"; done
"$REC" -o t "$liar" map map dump overlap object good $objects object tiny object empty sized 1000000000 good sized 10 good nowhere object lastgood || fail 'rec'
jit() { (ulimit -v "$LIMIT"; exec "$HINDSIGHT" jit -q "$@" 2>err); }
LIMIT=unlimited
ldd "$HINDSIGHT" | grep -q asan || LIMIT=8000000
jit --history t >list || fail "jit: $(tail -3 err)"
[ "$(wc -l <err)" -le 1 ] || fail "it says much: $(cat err)"
for name in first second good last one two three inside; do
	grep -q "  $name$" list || fail "$name: $(cut -c1-200 list)"
done
for name in wraps empty cut minus; do
	! grep -q "  $name$" list || fail "$name is believed: $(cut -c1-200 list)"
done
! grep -q $'\x1b' list || fail 'controls reach the terminal'
[ "$(grep -c ' object  *square' list)" -ge 10 ] || fail "objects: $(cut -c1-200 list)"
code() { python3 -c "print(hex(0x7000000200000 + 0x1000 * $1 + 4))"; }
last=$(ls object* | wc -l)
for n in 0 $((last + 1)); do
	jit t "$(code "$n")" >at || fail "jit $n: $(cat err)"
	grep -q 'square at .*square.c:[34]' at || fail "good object $n: $(cat at)"
done
for n in $(seq 1 "$last"); do
	jit t "$(code "$n")" >at || fail "object $n: $(cat err)"
	[ "$(wc -l <err)" -le 2 ] || fail "object $n: $(cat err)"
done
jit --json --history t | python3 -c 'import json, sys; json.load(sys.stdin)' || fail 'json'
jit --perf-map=map2 --jitdump=dump2 --elf=elf2 t >out || fail "exports: $(cat err)"
for f in short nameless nodump; do
	"$REC" -o t2 "$liar" dump $f || fail "rec $f"
	jit --history t2 >list || fail "$f: $(cat err)"
	[ "$(wc -l <err)" -le 1 ] || fail "$f: $(cat err)"
	case $f in
	short) grep -q '  before$' list && ! grep -q '  after$' list || fail "$f: $(cat list)" ;;
	nameless) grep -q '  behind$' list && [ "$(wc -l <list)" = 2 ] || fail "$f: $(cat list)" ;;
	nodump) [ "$(wc -l <list)" -le 1 ] || fail "$f: $(cat list)" ;;
	esac
	rm -rf t2
done
# a thousand objects that lie: one line
"$REC" -o t2 "$liar" again 1000 object1 again 1000 tiny || fail 'rec many'
jit --history t2 >list || fail "many: $(tail -3 err)"
[ "$(wc -l <err)" -le 1 ] || fail "many: $(wc -l <err) lines: $(head -3 err)"
exit 0
