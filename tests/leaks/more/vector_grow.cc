// leaks: kind=lost how=freed
#include <vector>
struct v { long a, b, c, d; };
static void f()
{
	std::vector<v *> list;
	for (int i = 0; i < 5; i++)
		list.push_back(new v()); /* ALLOC */
} /* LOST */
int main() { f(); return 0; }
