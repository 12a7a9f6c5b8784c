// leaks: kind=held bytes=50 blocks=1 holder=last_request
#include <stdlib.h>
static char *last_request;
static char *request(void) { return malloc(50); } /* ALLOC */
int main(void)
{
	for (int i = 0; i < 20; i++) {
		char *r = request();
		r[0] = (char)i;
		if (i == 7)
			last_request = r; /* STORED */
		else
			free(r);
	}
	return 0;
}
