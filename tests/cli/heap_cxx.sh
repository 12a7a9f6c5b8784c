#!/bin/bash
# test: timeout=60
# hindsight heap: what containers of C++ and Rust hold.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need g++
cp "$ROOT/tests/cli/heap_cxx.cc" c.cc
g++ -std=c++17 -g -O0 -o c c.cc 2>/dev/null || skip 'no C++17'
"$REC" -o "$TMP/t1" ./c >/dev/null || fail 'rec failed'
"$HINDSIGHT" heap -q "$TMP/t1" all shape tail text --string=400 >out 2>err || fail "heap: $(cat err)"
has() { grep -qF -- "$1" out || fail "no '$1' in: $(tr '\n' '|' <out | cut -c1-3000)"; }
has 'std::string s = "short"'; has "std::string l = \"$(printf 'x%.0s' $(seq 300))\""; has 'std::string e = ""'
has 'sv = "view"'; has 'v = std::vector of length 3, capacity 3'; has 'vb = std::vector<bool> of 3'
has 'std::deque with 200 elements'; has 'std::list of 2'; has 'std::forward_list of 2'
has 'm = std::map with 3 elements'; has '["three"] = 3'; has 'std::set with 3 elements'
has 'std::unordered_map with 2 elements'; has '[2] = "y"'; has 'std::unordered_set with 1 element'
has '(use count 2, weak count 1)'; has '-> block Circle'; has 'double r = 2.5'
has '[contained value] = 12'; has 'o2 = std::optional [no contained value]'; has 'std::variant [index 1]'; has '[contained value] = "text"'
has 'std::atomic<int> at = 3'; has 'none = std::map with 0 elements'; has 'All::Color color = Green'
has 'ws = L"wide é"'; has 'u16 = u"sixteen 😀"'; has 'u32 = U"thirtytwo"'; has ' L"pointed"'; has 'wa = L"array"'; has "wc = 119 L'w'"
has 'tup = std::tuple containing'; has '[1] = "in tuple"'; has '[2] = {}'; has 'tup0 = empty std::tuple'; has 'std::any containing long'; has 'any0 = std::any [no contained value]'
has 'bits = std::bitset'; has 'sk = std::stack wrapping: std::deque with 1 element'; has 'qu = std::queue wrapping: std::deque with 0 elements'
has 'pq = std::priority_queue wrapping: std::vector of length 2, capacity 2'; has '_M_value = 1.5 + -2i'; has 'ms = std::chrono::duration = { 90ms }'
has 'pm = +4'; has 'pm0 = NULL'; has '-> All::f'
grep -A12 'tail = 0x.*-> block Tail$' out | grep -q 'int v = 77' || fail "an array without a length: $(cat out)"
has '-> block TailText'; has '[] text = "hello"'
E=$("$HINDSIGHT" dump "$TMP/t1" | awk '/ write\(1/ { e = e ? e "," $1 : $1 } END { print e }')
"$HINDSIGHT" heap -q "$TMP/t1" --diff="$E" >diff 2>err || fail "diff: $(cat err)"
grep -q 'Tail .item\[2\].v: 22 => 77  by main at c.cc' diff || fail "a change in an array without a length: $(cat diff)"
"$HINDSIGHT" heap -q "$TMP/t1" --history='tail->item[2].v' >hist 2>err && grep -q ' 77  main at c.cc' hist || fail "its history: $(cat hist err)"
grep -A2 'vp = std::vector' out | grep -q 'int x = 1' || fail "vector of structs: $(cat out)"
[ "$(grep -A200 'd = std::deque' out | awk -F' = ' '/^ +\[[0-9]+\] = [0-9]+$/ { s += $2; n++ } n == 200 { print s; exit }')" = 39900 ] || fail "deque: $(cat out)"
command -v rustc >/dev/null || exit 0
export RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup}	# a test has a home of its own
cp "$ROOT/tests/cli/heap_rust.rs" r.rs
rustc -g -o r r.rs 2>err || fail "rustc: $(head -1 err)"
"$REC" -o "$TMP/t2" ./r >/dev/null || fail 'rec of a Rust program failed'
E=$("$HINDSIGHT" dump "$TMP/t2" | awk '/ write\(1/ { e = $1 } END { print e }')
"$HINDSIGHT" heap -q "$TMP/t2" all --at="$E" >out 2>err || fail "heap of Rust: $(cat err)"
has 'name = "rusty"'; has 'Vec(size=3)'; has 'o2 = None'; has 'o1 = Some'; has '= Rect'; has 'i32 w = 3'; has '= Nothing'
has 'bt = BTreeMap(size=40)'; has '[39] = "v39"'; [ "$(grep -c '\] = "v[0-9]*"' out)" = 40 ] || fail "BTreeMap: $(cat out)"
has 'bs = BTreeSet(size=3)'; has 'hs = HashSet(size=1)'; has '[0] = 7'; has 'Rc(strong=2, weak=0)'; has 'value = RefCell(borrow=0)'; has 'i32 value = 31'
has 'dq = VecDeque(size=8)'; grep -A8 'dq = VecDeque' out | awk '/\] = / { printf "%s ", $3 }' | grep -q '^4 5 6 7 8 9 10 11' || fail "VecDeque: $(cat out)"
has 'bx = slice of 2'; has '[1] = 42'; has "char ch = 233 'é'"; has 'i128 big = -5'; has 'path = "/tmp/x"'
has 'f64 __0 = 1.5'; has 'HashMap(size=2)'; has '[2] = "two"'; has '&str st = "static"'
exit 0
"$HINDSIGHT" heap -q "$TMP/t2" more --at="$E" >out 2>err || fail "heap of more Rust: $(cat err)"
has 'bs = "boxed text"'; has 'rs = Rc(strong=1, weak=0) = "counted text"'; has 'asl = Arc(strong=1, weak=0) of 3'; has '[2] = 9'; has 'rw = Rc(strong=1, weak=0) of 2'
has '[1] = "two"'; has 'll = LinkedList(size=3)'; has '[1] = 22'; has 'l0 = LinkedList(size=0)'; has 'bh = BinaryHeap(size=2)'; has 'mu = Mutex'; has '[1] = 52'
has 'rl = RwLock'; has 'value = "locked"'; has 'oc = OnceCell'; has '__0 = 12'; has 'nz = 6'; has 'd1 = 1.5s'; has 'd2 = 20µs'; has 'cs = "c string"'
has 'root = Rc(strong=2, weak=1)'; has 'u32 id = 100'; has 'none = Weak(no object)'; has 'gone = Weak(strong=0, weak=1)'
[ "$(wc -l <out)" -lt 200 ] || fail "objects that are held twice: $(wc -l <out) lines"
"$HINDSIGHT" heap -q --json "$TMP/t2" more --at="$E" >json && [ "$(wc -c <json)" -lt 200000 ] || fail "objects that are held twice, json: $(wc -c <json)"
