#!/bin/bash
# test: timeout=60
# hindsight heap: what containers of libc++ hold.
. "$LIB"
[ -z "$PLAIN" ] || cat >h.cc <<'X'
#include <any>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
static int plain(int x) { return x * 2; }
struct Adder { int n; int operator()(int x) const { return x + n; } };
struct Large { int a[20]; std::string s; };
struct All {
	std::any none, small{ 42 }, big{ Large{ { 1, 2, 3 }, "inside" } }, text{ std::string("text") };
	std::function<int(int)> f0, f1 = plain, f2 = Adder{ 5 }, f3;
	std::filesystem::path p{ "/usr/lib/x" };
};
All *all;
int main()
{
	int k = 3;
	std::string s = "captured";
	all = new All;
	all->f3 = [k, s](int x) { return x + k + (int)s.size(); };
	abort();
}
X
clang++ -stdlib=libc++ -std=c++17 -g -O0 -o h h.cc 2>err || exit 0	# an old one has its filesystem elsewhere
"$REC" -o t2 ./h >/dev/null 2>&1
"$HINDSIGHT" heap -q t2 all >out 2>err || fail "heap: $(cat err)"
has 'none = std::any [no contained value]'; has 'small = std::any containing int'; has '[contained value] = 42'; has 'big = std::any containing Large'
has 's = "inside"'; has '[contained value] = "text"'; has 'f0 = std::function [no target]'; has 'f1 = std::function calling plain'
has 'f2 = std::function holding Adder'; has 'int n = 5'; has 'f3 = std::function holding main::'; has '"captured"'; has 'p = filesystem::path "/usr/lib/x"'
"$HINDSIGHT" heap -q t2 'all->big->a[1]' 'all->f2->n + 1' >out 2>err || fail "expressions: $(cat err)"
has '[1] = 2'; has '+ 1 = 6'
exit 0
command -v clang++ >/dev/null || skip 'no clang++'
cp "$ROOT/tests/cli/heap_cxx.cc" c.cc
clang++ -stdlib=libc++ -std=c++17 -g -O0 -o c c.cc 2>/dev/null || skip 'no libc++ (package libc++-dev)'
"$REC" -o t ./c >/dev/null || fail 'rec failed'
"$HINDSIGHT" heap -q t all --string=400 >out 2>err || fail "heap: $(cat err)"
has() { grep -qF -- "$1" out || fail "no '$1' in: $(tr '\n' '|' <out | cut -c1-3000)"; }
has ' s = "short"'; has " l = \"$(printf 'x%.0s' $(seq 300))\""; has ' e = ""'; has 'sv = "view"'
has 'v = std::vector of length 3, capacity 3'; has 'vb = std::vector<bool> of 3'; has 'd = std::deque with 200 elements'
has 'li = std::list of 2'; has 'fl = std::forward_list of 2'; has '[0] = 7'; has '[1] = "b"'
has 'm = std::map with 3 elements'; has '["three"] = 3'; has 'st = std::set with 3 elements'; has 'mm = std::map with 2 elements'; has 'none = std::map with 0 elements'
has 'um = std::unordered_map with 2 elements'; has '[2] = "y"'; has 'us = std::unordered_set with 1 element'
has '(use count 2, weak count 1)'; has '-> block Circle'; has 'double r = 2.5'
has 'o1 = std::optional'; has '[contained value] = 12'; has 'o2 = std::optional [no contained value]'; has 'va = std::variant [index 1]'; has '[contained value] = "text"'
has 'tup = std::tuple containing'; has '[1] = "in tuple"'; has '[2] = {}'; has 'tup0 = empty std::tuple'; has 'ms = std::chrono::duration = { 90ms }'
has 'ws = L"wide é"'; has 'u16 = u"sixteen 😀"'; has 'u32 = U"thirtytwo"'; has 'sk = std::stack wrapping: std::deque with 1 element'
grep -A4 ' st = std::set' out | tr -d ' \n' | grep -q 'elements\[0\]=3\[1\]=4\[2\]=5' || fail "set: $(grep -A4 ' st = ' out)"
grep -A2 'vp = std::vector' out | grep -q 'int x = 1' || fail "vector of structs: $(cat out)"
[ "$(grep -A200 ' d = std::deque' out | awk -F' = ' '/^ +\[[0-9]+\] = [0-9]+$/ { s += $2; n++ } n == 200 { print s; exit }')" = 39900 ] || fail "deque: $(cat out)"
"$HINDSIGHT" heap -q t 'all->m["two"]' 'all->li[1]' 'all->up->y' >out 2>err || fail "expressions: $(cat err)"
has '"two"] = 2'; has ' = "b"'; has ' = 6'
exit 0
