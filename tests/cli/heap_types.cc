#include <any>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>
#include <unistd.h>
struct Bits { unsigned f1 : 3, f2 : 13; long z; };
struct Bytes { unsigned char a : 4; unsigned short b : 13; int c : 7; long d : 40; };
struct Pair { int x = 5, y = 6; };
static void drop(Pair *p) { delete p; }
namespace { int hidden = 4; }
namespace outer { namespace { int deep = 5; } }
Bits bits; Bytes bytes;
std::unique_ptr<Pair, void (*)(Pair *)> owned(new Pair, drop), none(nullptr, drop);
std::unique_ptr<Pair, std::function<void(Pair *)>> odd(new Pair, drop);
int three = 3;
std::function<int(int)> small = [k = 7](int i) { return k + i; };
std::function<int()> large = [a = 1L, b = 2L, c = 3L] { return (int)(a + b + c); };
std::function<int()> nothing = [] { return 1; };
std::any number = 42, text = std::string("in any");
int row[4] = {1, 2, 3, 4};
std::span<int> dynamic(row, 3); std::span<int, 4> fixed(row);
std::filesystem::path path = "/tmp/some";
std::array<int, 3> trio{1, 2, 30};
int init = 11, result = 12, buf = 13, fd = 14;
std::vector<int> grow(int n) { std::vector<int> v; for (int i = 0; i < n; i++) v.push_back(i); return v; }
int main()
{
	bits.f1 = 5; bits.f2 = 4097; bytes.a = 5; bytes.b = 4097; bytes.c = -3; bytes.d = -5;
	std::vector<int> v = grow(1000);
	if (write(1, "", 0)) return 1;
	bits.f2 = 4098;
	if (write(1, "", 0)) return 1;
	return small(1) + large() + nothing() + hidden + outer::deep + three == 0 || v.empty();
}
