#!/bin/bash
# test: timeout=120
# A program of rustc's v0 mangling: all its names as c++filt has them, and stacks with them where there is no debug information.
. "$LIB"
need rustc c++filt nm strip python3
export RUSTUP_HOME=${RUSTUP_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.rustup}	# a test has a home of its own
cat >v.rs <<'X'
use std::fmt::Debug;
trait Shape { fn area(&self) -> u64; }
struct Square<const N: usize>(u64);
impl<const N: usize> Shape for Square<N> { #[inline(never)] fn area(&self) -> u64 { work(self.0, |x| x * N as u64) } }
#[inline(never)] fn work<F: Fn(u64) -> u64>(n: u64, f: F) -> u64 { let mut s = 0u64; for i in 0..n { s = std::hint::black_box(s.wrapping_add(f(i))); } s }
#[inline(never)] fn show<T: Debug>(t: [T; 2]) -> String { format!("{:?}", t) }
mod größe { #[inline(never)] pub fn naïve() -> u8 { std::hint::black_box(3) } }
fn main() {
    let all: Vec<Box<dyn Shape>> = vec![Box::new(Square::<3>(3000000)), Box::new(Square::<7>(3000000))];
    println!("{}", all.iter().map(|s| s.area()).fold(0u64, |a, b| a.wrapping_add(b)));
    println!("{} {}", show([(1u8, 'x'), (2, 'y')]), größe::naïve());
}
X
rustc -O -C symbol-mangling-version=v0 -o v v.rs 2>err || skip "rustc: $(head -1 err)"
nm v | awk '{ print $NF }' | grep '^_R' | sort -u >all
[ "$(wc -l <all)" -gt 300 ] || skip 'this rustc has no v0'
"$BUILD/tests/unit/symbols_rust" names <all >ours || fail 'names'
c++filt <all | python3 -c '
import re, sys
for line in sys.stdin:      # c++filt says hashes of crates and types of constants, too
    line = re.sub(r"\[[0-9a-f]{1,16}\](?=$|::|>|\n)", "", line)
    sys.stdout.write(re.sub(r": (usize|isize|bool|char|[iu](8|16|32|64|128))(?=[\],>])", "", line))' >theirs
cmp ours theirs || fail "$(diff ours theirs | head -6)"
strip -g v
"$REC" -o t ./v >out || fail 'rec'
"$HINDSIGHT" profile -q --collapsed=stacks t >/dev/null || fail 'profile'
for n in 3 7; do
	grep -qF "v::main;v::work::<<v::Square<$n> as v::Shape>::area::{closure#0}>" stacks || fail "Square<$n>: $(head -3 stacks)"
done
