/*
 * Fuzz audit logs: any bytes must end in an error or messages, in bounded memory; what is written of them reads back and writes the same bytes again; memory
 * at a moment is that of the newest message, byte by byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/audit.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(struct err *err)
{
	if (err)
		abort();
}

static char *written(const struct audit_log *l, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	for (size_t i = 0; i < l->n; i++)
		audit_write(l, &l->message[i], f);
	fclose(f);
	return text;
}

/* The slow way. */
static int byte_at(const struct audit_log *l, size_t before, uint64_t addr)
{
	while (before-- > 0) {
		const struct audit_message *m = &l->message[before];

		if (m->kind == AUDIT_MEMORY && addr - m->addr < m->data.n)
			return (uint8_t)m->data.p[addr - m->addr];
	}
	return -1;
}

static void look(const struct audit_log *l)
{
	struct audit_memory *mem;
	uint8_t buf[300];
	bool known[300];

	check(audit_memory_create(l, &mem));
	for (size_t i = 0; i < l->n && i < 20; i++) {
		uint64_t addr = l->message[i].addr - 20;
		size_t before = (i * 7 + 3) % (l->n + 1);

		audit_memory_read(mem, before, addr, buf, known, sizeof(buf));
		for (size_t k = 0; k < sizeof(buf); k += 13) {
			int b = addr + k < addr ? -1 : byte_at(l, before, addr + k);

			if (known[k] != (b >= 0) || (b >= 0 && buf[k] != b))
				abort();
		}
		audit_memory_at(mem, before, addr + 20);
	}
	audit_memory_destroy(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	FILE *null = fopen("/dev/null", "w");
	size_t a_len, b_len;
	struct audit_log l, m;
	char *a, *b;

	err_free(audit_read(data, len, &l));
	look(&l);
	check(audit_list(&l, null));
	fclose(null);
	a = written(&l, &a_len);
	check(audit_read(a, a_len, &m));
	b = written(&m, &b_len);
	if (a_len != b_len || memcmp(a, b, a_len) || l.n != m.n)
		abort();
	audit_free(&l);
	audit_free(&m);
	free(a);
	free(b);
	return 0;
}

#ifndef FUZZING
CORPUS_MAIN_DAMAGED("audit_log")
#endif
