#!/bin/bash
# test: timeout=90
# hindsight heap of a Rust program: blocks are typed by the variables that lead to them, through Box, Rc, Vec, HashMap and enumerations.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need python3
command -v rustc >/dev/null || skip 'no rustc'
export RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup}	# a test has a home of its own
cat >r.rs <<'X'
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
#[allow(dead_code)] struct Item { id: u32, name: String, kids: Vec<Box<Kid>> }
#[allow(dead_code)] struct Kid { id: u64, next: Option<Box<Kid>> }
#[allow(dead_code)] struct Shared { id: u64, name: String }
#[allow(dead_code)] struct Entry { a: u64, b: u64, c: u64, deep: Box<Deep> }
#[allow(dead_code)] struct Deep { n: [u64; 7] }
#[allow(dead_code)] enum Shape { Round(Box<Round>), Flat { flat: Box<Flat>, n: u32 }, Nothing }
#[allow(dead_code)] struct Round { r: [f64; 5] }
#[allow(dead_code)] struct Flat { w: [u32; 9] }
#[allow(dead_code)] struct Queued { q: [u64; 11] }
struct Holder { items: Vec<Item>, shared: Vec<Rc<Shared>>, map: HashMap<u32, Entry>, shapes: Vec<Shape>, queue: VecDeque<Box<Queued>>, arc: Arc<Mutex<Vec<Item>>>, tree: BTreeMap<u32, u64>, dynamic: Vec<Box<dyn Area>>, counted: Rc<dyn Area> }
trait Area { fn area(&self) -> f64; }
struct Disc { r: f64, name: String, more: [u8; 90] }
impl Area for Disc { fn area(&self) -> f64 { self.r + self.more[0] as f64 + self.name.len() as f64 } }
fn disc(r: f64) -> Disc { Disc { r, name: "disc".into(), more: [0; 90] } }
static GLOBAL: Mutex<Vec<Box<Kid>>> = Mutex::new(Vec::new());
fn item(i: u32) -> Item { Item { id: i, name: format!("item {}", i), kids: vec![Box::new(Kid { id: 1, next: Some(Box::new(Kid { id: 2, next: None })) })] } }
#[inline(never)] fn pause(h: &Holder) { println!("{} {} {} {}", h.items.len(), h.shared.len(), h.map.len(), h.shapes.len() + h.queue.len() + h.arc.lock().unwrap().len() + h.tree.len() + h.dynamic[0].area() as usize + h.counted.area() as usize); }
fn main() {
    let mut h = Holder { items: vec![], shared: vec![], map: HashMap::new(), shapes: vec![], queue: VecDeque::new(), arc: Arc::new(Mutex::new(vec![])), tree: (0..1000).map(|i| (i, 3 * i as u64)).collect(), dynamic: vec![Box::new(disc(1.5)), Box::new(disc(2.5))], counted: Rc::new(disc(3.5)) };
    for i in 0..20 {
        h.items.push(item(i));
        h.shared.push(Rc::new(Shared { id: 7, name: "shared".into() }));
        h.map.insert(i, Entry { a: 1, b: 2, c: 3, deep: Box::new(Deep { n: [i as u64; 7] }) });
        h.shapes.push(Shape::Round(Box::new(Round { r: [0.0; 5] })));
        h.shapes.push(Shape::Flat { flat: Box::new(Flat { w: [i; 9] }), n: 1 });
        h.shapes.push(Shape::Nothing);
        h.queue.push_back(Box::new(Queued { q: [1; 11] }));
        h.arc.lock().unwrap().push(item(i));
        GLOBAL.lock().unwrap().push(Box::new(Kid { id: 3, next: None }));
    }
    pause(&h);
    std::process::exit(0);
}
X
rustc -g -o r r.rs 2>err || fail "rustc: $(head -1 err)"
"$REC" -o t ./r >/dev/null || fail 'rec failed'
"$HINDSIGHT" heap -q --json --top=100 t >json 2>err || fail "heap: $(cat err)"
python3 - <<'X' || fail "types: $("$HINDSIGHT" heap -q --top=40 t)"
import json
n = {x["type"]: x["count"] for x in json.load(open("json"))["types"]}
for t, count in (("r::Kid", 100), ("r::Deep", 20), ("r::Round", 20), ("r::Flat", 20), ("r::Queued", 20)):
	assert n.get(t) == count, (t, n)
assert sum(c for t, c in n.items() if "RcInner<r::Shared>" in t or "RcBox<r::Shared>" in t) == 20, n
assert sum(c for t, c in n.items() if t and "r::Entry" in t) == 1 and n.get("r::Item", 0) == 2 and n.get("r::Shape") == 1, n
assert sum(c for t, c in n.items() if t and t.startswith("? by r::")) == 0, n
assert n.get("r::Disc") == 2 and sum(c for t, c in n.items() if "RcInner<r::Disc>" in t or "RcBox<r::Disc>" in t) == 1, n
assert n.get("alloc::collections::btree::node::InternalNode<u32, u64>", 0) > 5 and n["alloc::collections::btree::node::LeafNode<u32, u64>"] > 80, n
X
event=$("$HINDSIGHT" dump t | awk '$4 == "syscall" && /write\(1/ { print $1 }' | tail -1)
is() {
	"$HINDSIGHT" heap -q --at="$event" t "$1" >out 2>err || fail "$1: $(cat err)"
	sed -n 2p out | grep -qF -- " $1 = $2" || fail "$1: $(sed -n 2p out)"
}
is 'h->dynamic[1]->r' 2.5; is 'h->dynamic[0]->name' '"disc"'; is 'h->counted->r' 3.5; is 'h->tree[500]' 1500; is 'h->tree[3] + 1' 10
"$HINDSIGHT" heap -q --at="$event" t '*h' | grep -q 'counted = Rc(strong=1, weak=0) r::Disc at 0x' || fail 'the object of an Rc<dyn> is not shown'
exit 0
