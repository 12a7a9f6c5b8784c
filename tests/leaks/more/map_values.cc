// leaks: kind=lost how=freed
#include <map>
#include <string>
struct value { long a, b; };
int main()
{
	std::map<std::string, value *> *m = new std::map<std::string, value *>;
	for (int i = 0; i < 3; i++)
		(*m)[std::to_string(i)] = new value(); /* ALLOC */
	delete m; /* LOST */
	return 0;
}
