#!/bin/bash
# test: timeout=60
# hindsight heap: what containers of C++ and Rust hold.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need g++
cp "$ROOT/tests/cli/heap_cxx.cc" c.cc
g++ -std=c++17 -g -O0 -o c c.cc 2>/dev/null || skip 'no C++17'
"$REC" -o "$TMP/t1" ./c >/dev/null || fail 'rec failed'
"$HINDSIGHT" heap -q "$TMP/t1" all shape --string=400 >out 2>err || fail "heap: $(cat err)"
has() { grep -qF -- "$1" out || fail "no '$1' in: $(tr '\n' '|' <out | cut -c1-3000)"; }
has 'std::string s = "short"'; has "std::string l = \"$(printf 'x%.0s' $(seq 300))\""; has 'std::string e = ""'
has 'sv = "view"'; has 'v = std::vector of length 3, capacity 3'; has 'vb = std::vector<bool> of 3'
has 'std::deque with 200 elements'; has 'std::list of 2'; has 'std::forward_list of 2'
has 'm = std::map with 3 elements'; has '["three"] = 3'; has 'std::set with 3 elements'
has 'std::unordered_map with 2 elements'; has '[2] = "y"'; has 'std::unordered_set with 1 element'
has '(use count 2, weak count 1)'; has '-> block Circle'; has 'double r = 2.5'
has '[contained value] = 12'; has 'o2 = std::optional [no contained value]'; has 'std::variant [index 1]'; has '[contained value] = "text"'
has 'std::atomic<int> at = 3'; has 'none = std::map with 0 elements'; has 'All::Color color = Green'
grep -A2 'vp = std::vector' out | grep -q 'int x = 1' || fail "vector of structs: $(cat out)"
[ "$(grep -A200 'd = std::deque' out | awk -F' = ' '/^ +\[[0-9]+\] = [0-9]+$/ { s += $2; n++ } n == 200 { print s; exit }')" = 39900 ] || fail "deque: $(cat out)"
command -v rustc >/dev/null && cp "$ROOT/tests/cli/heap_rust.rs" r.rs && rustc -g -o r r.rs 2>/dev/null || exit 0
"$REC" -o "$TMP/t2" ./r >/dev/null || fail 'rec of a Rust program failed'
E=$("$HINDSIGHT" dump "$TMP/t2" | awk '/ write\(1/ { e = $1 } END { print e }')
"$HINDSIGHT" heap -q "$TMP/t2" all --at="$E" >out 2>err || fail "heap of Rust: $(cat err)"
has 'name = "rusty"'; has 'Vec(size=3)'; has 'o2 = None'; has 'o1 = Some'; has '= Rect'; has 'i32 w = 3'; has '= Nothing'
has 'f64 __0 = 1.5'; has 'HashMap(size=2)'; has '[2] = "two"'; has '&str st = "static"'
exit 0
