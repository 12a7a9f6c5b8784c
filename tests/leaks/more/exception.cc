// leaks: kind=lost bytes=40 blocks=1 how=returned
#include <stdexcept>
struct big { long x[5]; };
static int depth(int n) { if (n == 0) throw std::runtime_error("no"); return depth(n - 1) + 1; }
static int work()
{
	big *b = new big(); /* ALLOC */
	b->x[0] = depth(4); /* LOST */
	delete b; /* NOT */
	return 0;
}
int main()
{
	try { work(); } catch (std::exception &e) { return 0; }
	return 1;
}
