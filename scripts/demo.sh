#!/bin/sh
# demo.sh - records a program with a heap overflow whose symptom shows long after its cause, and goes
# back from the symptom to the cause under gdb.  Exit status 0 only when the right line was found.
# README.md shows what it prints, word for word: tests/cli/demo.sh.
# Environment: BUILD (build), CC (cc), V=1 to keep all that gdb says.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
source=tests/prog/demo_overflow.c
command -v gdb >/dev/null || { echo 'demo: gdb is not installed (apt-get install gdb)' >&2; exit 1; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/hindsight-demo.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
"${CC:-cc}" -g -O0 -o "$dir/demo" $source

say() { printf '# %s\n' "$*"; }
quiet() { if [ -n "${V:-}" ]; then cat; else grep -avE '^(Reading |\[Inferior |[0-9a-fx]* in _start )|^$'; fi; }

say 'A program computes for a while; its final audit finds money missing.'
echo '$ rec -o t ./demo'
"$BUILD/bin/rec" -o "$dir/t" "$dir/demo"

say 'Replay that run under gdb, as often as you like: the same money is missing.  Stop in the audit, and look'
say 'which account it is.  Then go backwards: who changed that balance last?'
echo '$ replay t'
# gdb prints each command before what it says.
cat >"$dir/script" <<'EOF'
echo (gdb) break audit\n
break audit
echo (gdb) continue\n
continue
echo (gdb) print accounts[5]\n
print accounts[5]
echo (gdb) watch -l accounts[5].balance\n
watch -l accounts[5].balance
echo (gdb) reverse-continue\n
reverse-continue
echo (gdb) backtrace\n
backtrace
echo (gdb) print i\n
print i
echo (gdb) print sizeof(a->name)\n
print sizeof(a->name)
EOF
rc=0
"$BUILD/bin/replay" --batch -x "$dir/script" "$dir/t" >"$dir/out" 2>&1 </dev/null || rc=$?
quiet <"$dir/out"

cause=$(grep -n 'BUG:' $source | head -1)
line=${cause%%:*}
if [ $rc = 0 ] && grep -q "^Old value = 768" "$dir/out" && grep -q "^New value = 1000" "$dir/out" &&
	grep -q "rename_account .*demo_overflow.c:$line\$" "$dir/out" && grep -q "^\$2 = 16$" "$dir/out"; then
	say "Found.  Seen forwards, the balance went from 1000 to 768 when line $line wrote byte 16 of a 16-byte name."
else
	echo "demo: the cause, line $line of $source, was not found (gdb exited $rc)" >&2
	exit 1
fi
