// leaks: kind=cycle blocks=3 how=returned
#include <memory>
#include <vector>
struct Node { std::vector<std::shared_ptr<Node>> children; std::shared_ptr<Node> parent; };
static void build()
{
	auto root = std::make_shared<Node>(); /* ALLOC */
	auto child = std::make_shared<Node>();
	child->parent = root;
	root->children.push_back(child);
} /* LOST */
int main() { build(); return 0; }
