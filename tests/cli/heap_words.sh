#!/bin/bash
# test: timeout=60
# What hindsight heap says of an index too big, of one change, and a page with a variable that is there at one of its moments only.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need g++ python3
cat >t.cc <<'X'
#include <map>
#include <string>
#include <unistd.h>
#include <vector>
struct In { int x; };
struct All { std::vector<int> v{1, 2, 3}; std::vector<In> in{{4}}; std::map<std::string, int> m{{"one", 1}}; int plain = 3; In s{5}; } *all;
static int stop(int n) { return (int)write(1, "", 0) + n; }
__attribute__((noinline)) static int early(int only_early) { return stop(only_early) + only_early; }
__attribute__((noinline)) static int late(int only_late) { return stop(only_late) + only_late; }
int main()
{
	all = new All;
	early(1);
	all->plain = 4;
	return late(2) > 100;
}
X
g++ -g -O0 -o t t.cc || fail 'compiler'
"$REC" -o r ./t >/dev/null || fail 'rec failed'
no() {
	"$HINDSIGHT" heap -q r "$1" >out 2>err; rc=$?
	[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qF -- "$2" err || fail "$1: exit $rc, $(cat err)"
}
no 'all->v[99]' 'there is no element [99] in all->v, which is std::vector of length 3'
no 'all->in[99].x' 'there is no element [99] in all->in, which is std::vector of length 1'
no 'all->m["two"]' 'there is no element ["two"] in all->m, which is std::map with 1 element'
no 'all->plain[3]' 'not a pointer (int)'
no 'all->s[3]' 'not a pointer'
E=$("$HINDSIGHT" dump r | awk '/ write\(1/ { print $1 }' | paste -sd,)
"$HINDSIGHT" heap -q --diff="$E" r all >out 2>err || "$HINDSIGHT" heap -q --diff="$E" r >out 2>err || fail "diff: $(cat err)"
grep -qx '1 field changed' out || fail "one field: $(cat out)"
"$HINDSIGHT" heap -q --at="${E#*,}" --history='all->plain' r >out 2>err || fail "history: $(cat err)"
head -1 out | grep -q ': [02-9][0-9]* changes$\|: 1 change$' || fail "history: $(cat out)"
"$HINDSIGHT" heap -q --at="$E" --html=p.html r only_early only_late all >out 2>err || fail "a page of two moments: $(cat err)"
python3 - <<'X' || fail 'the page'
import json
d = json.loads(open("p.html").read().split('id="data">')[1].split("</script>")[0])
text = [[r[2] for r in rows] for moment, rows in d["roots"]]
assert text[0][0] == "1" and "no variable only_late" in text[0][1] and "no variable only_early" in text[1][0] and text[1][1] == "2", text
X
"$HINDSIGHT" heap -q --at="$E" --html=q.html r nobody >out 2>err; rc=$?
[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'no variable nobody' err && [ ! -e q.html ] || fail "a name that is none: exit $rc, $(cat err)"
exit 0
