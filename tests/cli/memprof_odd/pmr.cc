/* Memory resources, operator new of classes and with alignments, constructors that throw. */
extern "C" {
#include "truth.h"
}
#include <memory_resource>
#include <vector>
#include <string>
#include <map>
#include <new>
#include <stdexcept>
struct Log : std::pmr::memory_resource {
	void *do_allocate(size_t n, size_t a) override
	{
		void *p = ::operator new(n, std::align_val_t(a));
		say('a', 0, 0, (uintptr_t)p, n, __LINE__);
		return p;
	}
	void do_deallocate(void *p, size_t n, size_t a) override
	{
		say('f', (uintptr_t)p, n, 0, 0, __LINE__);
		::operator delete(p, n, std::align_val_t(a));
	}
	bool do_is_equal(const memory_resource &o) const noexcept override
	{
		return this == &o;
	}
};
struct Big {
	long x[10];
	Big(int n)
	{
		if (n == 3)
			throw std::runtime_error("three");
	}
};
struct Own {
	char c[48];
	static void *operator new(size_t n)
	{
		void *p = malloc(n + 8);
		say('a', 0, 0, (uintptr_t)p, n + 8, __LINE__);
		return (char *)p + 8;
	}
	static void operator delete(void *p)
	{
		p = (char *)p - 8;
		say('f', (uintptr_t)p, 56, 0, 0, __LINE__);
		free(p);
	}
};
int main(int c, char **v)
{
	Log log;
	{
		std::pmr::monotonic_buffer_resource m(1000, &log);
		std::pmr::vector<std::pmr::string> x(&m);
		for (int i = 0; i < 300; i++)
			x.push_back(
				std::pmr::string("a string that is longer than sixteen bytes", &m));
	}
	{
		std::pmr::unsynchronized_pool_resource m(&log);
		std::pmr::map<int, std::pmr::string> x(&m);
		for (int i = 0; i < 500; i++)
			x[i] = "another string that has to be allocated";
		for (int i = 0; i < 500; i += 3)
			x.erase(i);
	}
	for (int i = 0; i < 5; i++)
		try {
			Big *b = new Big(i);
			say('a', 0, 0, (uintptr_t)b, sizeof(Big), __LINE__);
			say('f', (uintptr_t)b, sizeof(Big), 0, 0, __LINE__);
			delete b;
		} catch (std::exception &) {
		}
	Own *o = new Own;
	delete o;
	Own *oa = ::new Own[4];
	say('a', 0, 0, (uintptr_t)oa, 192, __LINE__);
	say('f', (uintptr_t)oa, 192, 0, 0, __LINE__);
	::operator delete[](oa);
	int *n = new (std::nothrow) int[100];
	say('a', 0, 0, (uintptr_t)n, 400, __LINE__);
	say('f', (uintptr_t)n, 400, 0, 0, __LINE__);
	delete[] n;
	struct alignas(128) Al {
		char c[256];
	};
	Al *al = new Al;
	say('a', 0, 0, (uintptr_t)al, 256, __LINE__);
	say('f', (uintptr_t)al, 256, 0, 0, __LINE__);
	delete al;
	dump(v[1]);
}
