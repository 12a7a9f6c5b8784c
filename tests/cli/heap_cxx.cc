#include <atomic>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
#include <unistd.h>
struct Point { int x, y; };
struct Shape { virtual ~Shape() {} int id = 5; };
struct Circle : Shape { double r = 2.5; };
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
	enum class Color : unsigned char { Red, Green } color = Color::Green;
};
All *all; Shape *shape;
int main() { all = new All; for (int i = 0; i < 300; i++) all->d.push_back(i); for (int i = 0; i < 100; i++) all->d.pop_front(); shape = all->sh.get(); if (write(1, "", 0)) return 1; return 0; }
