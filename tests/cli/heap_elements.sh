#!/bin/bash
# test: timeout=60
# hindsight heap: expressions that go through containers and smart pointers; what a std::function calls or holds.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need g++
cat >c.cc <<'END'
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>
struct Adder { int n; int operator()(int x) const { return x + n; } };
static int plain(int x) { return x * 2; }
struct All {
	std::function<int(int)> f0, f1 = plain, f2 = Adder{ 5 }, f3;
	std::vector<std::vector<int>> vv = { { 1, 2 }, { 3 } };
	std::vector<int> big = std::vector<int>(5000, 4);
	std::map<std::string, std::vector<int>> m = { { "a", { 4, 5 } }, { "b]", { 6 } } };
	std::vector<std::unique_ptr<Adder>> owners;
	std::shared_ptr<int> sp = std::make_shared<int>(31);
	std::optional<Adder> opt = Adder{ 12 };
};
All *all;
int main()
{
	std::string s = "captured";
	int k = 3;
	all = new All;
	all->f3 = [k, s](int x) { return x + k + (int)s.size(); };
	all->owners.push_back(std::make_unique<Adder>(Adder{ 77 }));
	all->big[4321] = 1234;
	abort();
}
END
g++ -std=c++17 -g -O0 -o c c.cc 2>/dev/null || skip 'no C++17'
"$REC" -o "$TMP/t" ./c >/dev/null 2>&1
"$HINDSIGHT" heap -q "$TMP/t" all >out 2>err || fail "heap: $(cat err)"
has() { grep -qF -- "$1" out || fail "no '$1' in: $(tr '\n' '|' <out | cut -c1-2000)"; }
has 'f0 = std::function [no target]'; has 'f1 = std::function calling plain'; has 'f2 = std::function holding Adder'; has 'int n = 5'
has 'f3 = std::function holding main()::<lambda(int)>'; has '__s = "captured"'
is() {
	"$HINDSIGHT" heap -q "$TMP/t" "$1" >out 2>err || fail "$1: $(cat err)"
	sed -n 2p out | grep -qF -- " $1 = $2" || fail "$1: $(sed -n 2p out)"
}
is 'all->vv[0]' 'std::vector of length 2'
is 'all->vv[1][0]' 3
is 'all->big[4321]' 1234
is 'all->m["a"][1]' 5
is 'all->m["b]"][0]' 6
is 'all->owners[0]->n' 77
is '*all->sp' 31
is 'all->opt->n' 12
sed -n 1p out | grep -q '^0x' || fail "no address: $(head -1 out)"
for bad in 'all->vv[7]' 'all->m["zz"]' 'all->vv[' 'all->vv]' '*all->f0' 'all->sp->x' '[0]' '*'; do
	"$HINDSIGHT" heap -q "$TMP/t" "$bad" >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "$bad: $(cat out err)"
done
exit 0
