// leaks: kind=lost bytes=24 blocks=1 how=overwritten type=Circle
struct Shape { virtual ~Shape() {} virtual double area() = 0; };
struct Circle : Shape { double r = 1; long id = 2; double area() override { return r; } };
struct Square : Shape { double s = 1; double area() override { return s; } };
static Shape *current;
static Shape *make(int kind)
{
	if (kind)
		return new Circle; /* ALLOC */
	return new Square;
}
int main()
{
	current = make(1);
	double d = current->area();
	current = make(0); /* LOST */
	delete current;
	return d > 2;
}
