use std::collections::HashMap;
use std::io::Write;
#[derive(Debug)] #[allow(dead_code)]
enum Shape { Circle(f64), Rect { w: i32, h: i32 }, Nothing }
#[derive(Debug)] #[allow(dead_code)]
struct All { name: String, v: Vec<i32>, o1: Option<i32>, o2: Option<String>, o3: Option<Box<i32>>, s: Vec<Shape>, m: HashMap<i32, String>, st: &'static str }
fn main() {
    let mut m = HashMap::new(); m.insert(1, "one".to_string()); m.insert(2, "two".to_string());
    let all = Box::new(All { name: "rusty".into(), v: vec![1,2,3], o1: Some(5), o2: None, o3: Some(Box::new(9)), s: vec![Shape::Circle(1.5), Shape::Rect{w:3,h:4}, Shape::Nothing], m, st: "static" });
    std::io::stdout().write_all(b"").unwrap(); unsafe { libc_write(); }
    println!("{:?}", all);
}
extern "C" { fn getppid() -> i32; }
unsafe fn libc_write() { getppid(); }
