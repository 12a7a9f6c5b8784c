#include <any>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
#include <unistd.h>
struct Point { int x, y; };
struct Shape { virtual ~Shape() {} int id = 5; };
struct Circle : Shape { double r = 2.5; };
struct Empty {};
struct Tail { short n; struct { char name[4]; int v; } item[]; };
struct TailText { short n; char text[]; };
struct All {
	std::string s = "short", l = std::string(300, 'x'), e;
	std::string_view sv = "view";
	std::vector<int> v{1,2,3}; std::vector<Point> vp{{1,2},{3,4}}; std::vector<bool> vb{true,false,true};
	std::deque<int> d; std::list<std::string> li{"a","b"}; std::forward_list<int> fl{7,8};
	std::map<std::string,int> m{{"one",1},{"two",2},{"three",3}}; std::set<int> st{5,3,4}; std::multimap<int,Point> mm{{1,{1,1}},{1,{2,2}}};
	std::unordered_map<int,std::string> um{{1,"x"},{2,"y"}}; std::unordered_set<long> us{9};
	std::unique_ptr<Point> up{new Point{5,6}}; std::shared_ptr<Point> sp = std::make_shared<Point>(Point{7,8}), sp2 = sp; std::weak_ptr<Point> wp = sp; std::unique_ptr<Shape> sh{new Circle};
	std::optional<int> o1{12}, o2; std::variant<int,std::string> va{"text"}; std::atomic<int> at{3};
	std::map<int,int> none; const std::string &ref = s;
	std::wstring ws = L"wide \u00e9"; std::u16string u16 = u"sixteen \U0001f600"; std::u32string u32 = U"thirtytwo"; const wchar_t *wp0 = L"pointed"; wchar_t wa[6] = L"array", wc = L'w';
	std::tuple<int, std::string, Empty> tup{1, "in tuple", {}}; std::tuple<> tup0; std::any any = 5L, any0; std::bitset<70> bits{0x15};
	std::stack<int> sk; std::queue<int> qu; std::priority_queue<int> pq; std::complex<double> cx{1.5, -2}; std::chrono::milliseconds ms{90};
	int Point::*pm = &Point::y, Point::*pm0 = nullptr; void (All::*pf)() = &All::f; void f() {}
	enum class Color : unsigned char { Red, Green } color = Color::Green;
};
All *all; Shape *shape; Tail *tail; TailText *text;
int main() { all = new All; for (int i = 0; i < 300; i++) all->d.push_back(i); for (int i = 0; i < 100; i++) all->d.pop_front(); shape = all->sh.get(); all->sk.push(4); all->pq.push(3); all->pq.push(9);
	tail = (Tail *)malloc(sizeof(Tail) + 3 * sizeof(tail->item[0])); tail->n = 3; for (int i = 0; i < 3; i++) { tail->item[i].v = i * 11; tail->item[i].name[0] = (char)('a' + i); tail->item[i].name[1] = 0; }
	text = (TailText *)malloc(sizeof(TailText) + 6); text->n = 6; __builtin_memcpy(text->text, "hello", 6);
	if (write(1, "", 0)) return 1;
	tail->item[2].v = 77; if (write(1, "", 0)) return 1; return 0; }
