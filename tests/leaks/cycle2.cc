// leaks: kind=cycle blocks=2 how=returned
#include <memory>
struct Node { std::shared_ptr<Node> other; int v = 0; };
static void make()
{
	auto a = std::make_shared<Node>(); /* ALLOC */
	auto b = std::make_shared<Node>();
	a->other = b;
	b->other = a; /* CYCLE */
} /* LOST */
int main()
{
	make();
	return 0;
}
