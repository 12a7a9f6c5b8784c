"""mcjit-templates.py N - a C++ program of N templates with three functions each: as LLVM's MCJIT compiles it, an object with eight
sections for each template."""
import sys

n = int(sys.argv[1])
print("""#define OUT __attribute__((noinline))
static inline __attribute__((always_inline)) int twice(int x) { return x * 2 + (x >> 3); }
template<int N> OUT int leaf(int x) {
	return twice(x) * N + 1; }
template<int N> OUT int middle(int x) {
	return leaf<N>(x + N) - N; }
template<int N> OUT int top(int x) {
	int a = middle<N>(x);
	return twice(a ^ N); }
extern "C" int printf(const char *, ...);
typedef int (*fn)(int);
fn all[] = {""")
print("".join(f"top<{i}>,\n" for i in range(1, n + 1)))
print("""};
int main() {
	int sum = 0;
	for (fn f : all) sum ^= f(3);
	printf("sum %d\\n", sum);
}""")
