#!/bin/bash
# test: timeout=60
# hindsight heap: operators on elements of containers, bits, characters, constants, enumerators, virtual bases, what an object really is.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need g++
cat >c.cc <<'END'
#include <bitset>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>
enum class Color : unsigned char { Red, Green = 5, Blue };
enum Kind { SMALL, BIG = 7 };
struct Shape { virtual ~Shape() {} int id = 7; static const int kind = 3; static constexpr long wide = -5; };
struct Circle : Shape { double r = 2.5; unsigned a : 3, b : 5; Circle() : a(5), b(17) {} };
struct Top { int top = 42; virtual ~Top() {} };
struct Left : virtual Top { int left = 1; };
struct Right : virtual Top { int right = 2; };
struct Whole : Left, Right { int whole = 3; };
struct All {
	std::vector<bool> flags{ true, false, true };
	std::bitset<70> bits{ 5 };
	std::vector<int> numbers{ 1, 2, 30 };
	std::map<std::string, int> ages{ { "ann", 41 }, { "bob", 5 } };
	std::vector<std::string> names{ "a", "a string longer than fifteen characters" };
	std::u16string wide = u"hi";
	std::vector<Shape *> shapes{ new Circle, new Shape };
	std::unique_ptr<Shape> owner{ new Circle };
	Color color = Color::Blue;
	Kind size = BIG;
	Whole object;
	Left *part = &object;
	std::vector<int> &same = numbers;
};
All *all;
int two = 2;
int main()
{
	all = new All;
	abort();
}
END
g++ -std=c++17 -g -O0 -o c c.cc 2>/dev/null || skip 'no C++17'
"$REC" -o "$TMP/t" ./c >/dev/null 2>&1
is() {
	"$HINDSIGHT" heap -q "$TMP/t" -- "$1" >out 2>err || fail "$1: $(cat err)"
	sed -n 2p out | grep -qF -- " $1 = $2" || fail "$1: $(sed -n 2p out)"
}
is 'all->flags[1]' false; is 'all->flags[two]' true
is 'all->bits[2]' true; is 'all->bits[1]' false; is 'all->bits[69]' false
is 'all->numbers[two] + all->numbers[0]' 31; is 'all->same[1]' 2
is 'all->ages["ann"] - all->ages["bob"]' 36
is 'all->names[1][2]' "115 's'"; is 'all->wide[1]' "105 u'i'"
is '((Circle *)all->shapes[0])->r' 2.5; is 'all->shapes[0]->r' 2.5; is 'all->owner->r' 2.5
is 'all->shapes[0]->b' 17; is 'all->owner->a' 5
is 'Shape::kind' 3; is 'all->owner->kind' 3; is 'Shape::wide' -5; is 'all->owner->wide + 1' -4
is 'all->color == Blue' 1; is 'all->color == Color::Red' 0; is 'Color::Green' Green; is 'all->size == BIG && two == 2' 1
is 'all->object.top' 42; is 'all->part->top' 42; is 'all->part->whole' 3; is 'all->object.right' 2
"$HINDSIGHT" heap -q "$TMP/t" all >out 2>err || fail "heap: $(cat err)"
grep -q 'int top = 42' out || fail 'a virtual base is not shown'
for bad in 'all->flags[3]' 'all->bits[70]' 'all->names[1][99]' 'all->numbers[' 'all->numbers[]' 'all->ages[7]' 'all->owner->nothing' 'all->shapes[0]->r->x' 'Shape::nothing' 'all->color == Pink' \
	'all->numbers["x"]' 'all->owner[0]' 'Color::' '::'; do
	"$HINDSIGHT" heap -q "$TMP/t" "$bad" >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "$bad: $(cat out err)"
done
"$HINDSIGHT" heap -q --history='all->numbers[2]' "$TMP/t" >out 2>err || fail "history: $(cat err)"
grep -q ' 30 ' out || fail "no history of an element: $(cat out)"
"$HINDSIGHT" heap -q --history='all->numbers' "$TMP/t" >out 2>err || fail "history: $(cat err)"
grep -q ' std::vector of length 3, capacity 3 ' out && ! grep -q missing out || fail "the history of a container: $(cat out)"
