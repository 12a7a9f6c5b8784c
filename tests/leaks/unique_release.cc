// leaks: kind=lost bytes=40 blocks=1 type=Shape how=returned
#include <memory>
struct Shape { virtual ~Shape() {} virtual int f() { return 1; } char data[32]; };
static int use(Shape *s) { return s->f(); }
int main()
{
	std::unique_ptr<Shape> s(new Shape); /* ALLOC */
	use(s.get());
	s.release(); /* LOST */
	return 0;
}
