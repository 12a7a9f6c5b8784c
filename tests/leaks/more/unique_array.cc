// leaks: kind=lost bytes=120 blocks=1 how=returned
#include <memory>
struct T { long x[3]; };
static long use() { std::unique_ptr<T[]> a(new T[5]()); /* ALLOC */
	T *raw = a.release();
	return raw[2].x[1];
} /* LOST */
int main() { return (int)use(); }
