// test: timeout=60
/*
 * A program that says untrue things of JIT code, for cli/jit_hostile:
 *	jit_liar COMMAND...
 *	map FILE, dump FILE	writes FILE's bytes to perf-PID.map, jit-PID.dump in the working directory, in pieces
 *	object FILE		registers these bytes as an object
 *	again N FILE		the same N times, each a copy of its own
 *	sized N FILE		registers them, with a size of N
 *	nowhere			registers an object where no memory is, one without size, one that was never registered, an entry
 *				and a descriptor that are nonsense
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit_interface.h"

static void tell(uint32_t action, const void *at, uint64_t size)
{
	struct jit_code_entry *e = calloc(1, sizeof(*e));

	e->symfile_addr = at;
	e->symfile_size = size;
	jit_tell(e, action);
	free(e);
}

static void in_pieces(const char *path, const char *p, size_t n)
{
	static const size_t piece[] = { 4096, 1, 17, 100000 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		exit(2);
	for (unsigned i = 0; n; i++) {
		size_t len = n < piece[i % 4] ? n : piece[i % 4];

		if (write(fd, p, len) != (ssize_t)len)
			exit(2);
		p += len;
		n -= len;
	}
	close(fd);
}

static void nowhere(void)
{
	tell(1, (void *)0x10, 1 << 20);
	tell(1, &__jit_debug_descriptor, 0);
	tell(1, &__jit_debug_descriptor, ~0ull);
	tell(2, (void *)0x1234, 100);
	tell(7, (void *)0x1234, 100);
	jit_tell((void *)8, JIT_REGISTER);
	__jit_debug_descriptor.version = 99;
	tell(1, &__jit_debug_descriptor, 24);
	__jit_debug_descriptor.version = 1;
}

int main(int argc, char **argv)
{
	char name[64];

	for (int i = 1; i < argc; i++) {
		const char *what = argv[i];
		long n = 1;
		struct jit_object o;

		if (!strcmp(what, "nowhere")) {
			nowhere();
			continue;
		}
		if (!strcmp(what, "again") || !strcmp(what, "sized"))
			n = atol(argv[++i]);
		o = jit_object_read(argv[++i]);
		if (!strcmp(what, "map") || !strcmp(what, "dump")) {
			snprintf(name, sizeof(name), *what == 'm' ? "perf-%d.map" : "jit-%d.dump", (int)getpid());
			in_pieces(name, o.bytes, o.size);
		} else if (!strcmp(what, "sized")) {
			tell(1, o.bytes, (uint64_t)n);
		} else {
			for (long k = 0; k < n; k++)
				tell(1, k ? memcpy(malloc(o.size), o.bytes, o.size) : o.bytes, o.size);
		}
	}
	return 0;
}
