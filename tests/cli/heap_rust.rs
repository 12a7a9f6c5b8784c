use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::cell::OnceCell;
use std::collections::{BinaryHeap, LinkedList};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, RwLock};
use std::io::Write;
#[derive(Debug)] #[allow(dead_code)]
enum Shape { Circle(f64), Rect { w: i32, h: i32 }, Nothing }
#[derive(Debug)] #[allow(dead_code)]
struct All { name: String, v: Vec<i32>, o1: Option<i32>, o2: Option<String>, o3: Option<Box<i32>>, s: Vec<Shape>, m: HashMap<i32, String>, st: &'static str,
    bt: BTreeMap<i32, String>, bs: BTreeSet<i32>, hs: HashSet<u8>, dq: VecDeque<i32>, rc: Rc<RefCell<i32>>, bx: Box<[i32]>, ch: char, big: i128, path: std::path::PathBuf }
#[allow(dead_code)]
struct Node { id: u32, parent: RefCell<Weak<Node>>, kids: RefCell<Vec<Rc<Node>>> }
#[allow(dead_code)]
struct More { bs: Box<str>, rs: Rc<str>, asl: Arc<[u16]>, rw: Rc<[String]>, ll: LinkedList<i32>, l0: LinkedList<String>, bh: BinaryHeap<i32>, mu: Mutex<Vec<i32>>,
    rl: RwLock<String>, oc: OnceCell<i32>, nz: std::num::NonZeroU32, d1: std::time::Duration, d2: std::time::Duration, cs: std::ffi::CString, root: Rc<Node>, none: Weak<Node>, gone: std::sync::Weak<i32> }
fn more() -> Box<More> {
    // each node holds the next one twice: shown as a tree it would have 2^40 lines
    let v: Vec<Rc<Node>> = (0..40).map(|i| Rc::new(Node { id: 100 + i, parent: RefCell::new(Weak::new()), kids: RefCell::new(vec![]) })).collect();
    for i in 0..39 { for _ in 0..2 { v[i].kids.borrow_mut().push(v[i + 1].clone()); } *v[i + 1].parent.borrow_mut() = Rc::downgrade(&v[i]); }
    let oc = OnceCell::new(); oc.set(12).unwrap();
    Box::new(More { bs: "boxed text".into(), rs: "counted text".into(), asl: vec![7u16, 8, 9].into(), rw: vec!["one".to_string(), "two".to_string()].into(), ll: [11, 22, 33].into(), l0: LinkedList::new(),
        bh: [3, 9].into(), mu: Mutex::new(vec![51, 52]), rl: RwLock::new("locked".into()), oc, nz: std::num::NonZeroU32::new(6).unwrap(), d1: std::time::Duration::from_millis(1500),
        d2: std::time::Duration::from_micros(20), cs: std::ffi::CString::new("c string").unwrap(), root: v[0].clone(), none: Weak::new(), gone: Arc::downgrade(&Arc::new(5)) })
}
fn main() {
    let more = more();
    let mut m = HashMap::new(); m.insert(1, "one".to_string()); m.insert(2, "two".to_string());
    let mut dq = VecDeque::with_capacity(8); for i in 0..8 { dq.push_back(i); } for i in 8..12 { dq.pop_front(); dq.push_back(i); }
    let rc = Rc::new(RefCell::new(31)); let _other = rc.clone();
    let all = Box::new(All { name: "rusty".into(), v: vec![1,2,3], o1: Some(5), o2: None, o3: Some(Box::new(9)), s: vec![Shape::Circle(1.5), Shape::Rect{w:3,h:4}, Shape::Nothing], m, st: "static",
        bt: (0..40).map(|i| (i, format!("v{i}"))).collect(), bs: (0..3).collect(), hs: [7u8].into(), dq, rc, bx: vec![41, 42].into_boxed_slice(), ch: 'é', big: -5, path: "/tmp/x".into() });
    std::io::stdout().write_all(b"").unwrap(); unsafe { libc_write(); }
    println!("{:?} {}", all, more.root.id);
}
extern "C" { fn getppid() -> i32; }
unsafe fn libc_write() { getppid(); }
