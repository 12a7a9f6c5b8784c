// test: cc=gcc
// Floats of all widths: by gcc, for other compilers lack some.
#include <unistd.h>
_Float16 half = 1.5, least = 5.9604644775390625e-8; __float128 quad = 1.25; _Float128 wide = -2.5; _Decimal64 money = 19.99DD, huge = 5e20DD; _Decimal32 small = -0.25DF; _Decimal128 most = 123456789.5DL; long double x87 = 0.1L;
int main(void) { return (int)write(1, "", 0); }
