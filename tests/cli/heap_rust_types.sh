#!/bin/bash
# test: timeout=90
# hindsight heap of a Rust program: blocks are typed by the variables that lead to them, through Box, Rc, Vec, HashMap and enumerations.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need python3
command -v rustc >/dev/null || skip 'no rustc'
export RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup}	# a test has a home of its own
cat >r.rs <<'X'
use std::collections::{HashMap, VecDeque};
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
struct Holder { items: Vec<Item>, shared: Vec<Rc<Shared>>, map: HashMap<u32, Entry>, shapes: Vec<Shape>, queue: VecDeque<Box<Queued>>, arc: Arc<Mutex<Vec<Item>>> }
static GLOBAL: Mutex<Vec<Box<Kid>>> = Mutex::new(Vec::new());
fn item(i: u32) -> Item { Item { id: i, name: format!("item {}", i), kids: vec![Box::new(Kid { id: 1, next: Some(Box::new(Kid { id: 2, next: None })) })] } }
#[inline(never)] fn pause(h: &Holder) { println!("{} {} {} {}", h.items.len(), h.shared.len(), h.map.len(), h.shapes.len() + h.queue.len() + h.arc.lock().unwrap().len()); }
fn main() {
    let mut h = Holder { items: vec![], shared: vec![], map: HashMap::new(), shapes: vec![], queue: VecDeque::new(), arc: Arc::new(Mutex::new(vec![])) };
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
X
exit 0
