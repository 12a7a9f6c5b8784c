// leaks: kind=lost how=freed
#include <unordered_map>
struct entry { long x[4]; };
static std::unordered_map<int, entry *> cache;
static entry *lookup(int k)
{
	auto it = cache.find(k);
	if (it != cache.end()) return it->second;
	entry *e = new entry(); /* ALLOC */
	cache[k] = e;
	return e;
}
int main() { long s = 0; for (int i = 0; i < 20; i++) s += lookup(i)->x[0]; return (int)s; }
