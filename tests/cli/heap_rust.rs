use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::io::Write;
#[derive(Debug)] #[allow(dead_code)]
enum Shape { Circle(f64), Rect { w: i32, h: i32 }, Nothing }
#[derive(Debug)] #[allow(dead_code)]
struct All { name: String, v: Vec<i32>, o1: Option<i32>, o2: Option<String>, o3: Option<Box<i32>>, s: Vec<Shape>, m: HashMap<i32, String>, st: &'static str,
    bt: BTreeMap<i32, String>, bs: BTreeSet<i32>, hs: HashSet<u8>, dq: VecDeque<i32>, rc: Rc<RefCell<i32>>, bx: Box<[i32]>, ch: char, big: i128, path: std::path::PathBuf }
fn main() {
    let mut m = HashMap::new(); m.insert(1, "one".to_string()); m.insert(2, "two".to_string());
    let mut dq = VecDeque::with_capacity(8); for i in 0..8 { dq.push_back(i); } for i in 8..12 { dq.pop_front(); dq.push_back(i); }
    let rc = Rc::new(RefCell::new(31)); let _other = rc.clone();
    let all = Box::new(All { name: "rusty".into(), v: vec![1,2,3], o1: Some(5), o2: None, o3: Some(Box::new(9)), s: vec![Shape::Circle(1.5), Shape::Rect{w:3,h:4}, Shape::Nothing], m, st: "static",
        bt: (0..40).map(|i| (i, format!("v{i}"))).collect(), bs: (0..3).collect(), hs: [7u8].into(), dq, rc, bx: vec![41, 42].into_boxed_slice(), ch: 'é', big: -5, path: "/tmp/x".into() });
    std::io::stdout().write_all(b"").unwrap(); unsafe { libc_write(); }
    println!("{:?}", all);
}
extern "C" { fn getppid() -> i32; }
unsafe fn libc_write() { getppid(); }
