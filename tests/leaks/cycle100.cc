// leaks: kind=cycle blocks=100 how=freed
#include <memory>
#include <vector>
struct Node { std::shared_ptr<Node> next; int v = 0; };
int main()
{
	{
		std::vector<std::shared_ptr<Node>> all;
		for (int i = 0; i < 100; i++)
			all.push_back(std::make_shared<Node>()); /* ALLOC */
		for (int i = 0; i < 100; i++)
			all[i]->next = all[(i + 1) % 100]; /* CYCLE */
	} /* LOST */
	return 0;
}
