/* RaptorJIT's audit log: the golden file listed and written again, the newest memory before a moment, other encodings, cut and lying logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <msgpack.h>

#include "analysis/audit/audit.h"

static char *file(const char *name, size_t *len)
{
	FILE *f = fopen(name, "r");
	char *text = malloc(1 << 20);

	assert_non_null(f);
	*len = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
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

static void golden(void **state)
{
	size_t len, again_len, text_len;
	char *bytes = file("tests/golden/audit.log", &len), *again, *text = NULL, *peer = file("tests/golden/audit.txt", &text_len);
	struct audit_log l;
	uint64_t end = 0;
	FILE *f;

	(void)state;
	assert_null(audit_read(bytes, len, &l));
	for (size_t i = 0; i < l.n; i++) {
		assert_int_equal(l.message[i].at, end);
		end += l.message[i].size;
	}
	assert_int_equal(end, len);
	f = open_memstream(&text, &again_len);
	assert_null(audit_list(&l, f));
	fclose(f);
	peer[text_len] = '\0';
	assert_string_equal(text, peer);
	again = written(&l, &again_len);
	assert_int_equal(again_len, len);
	assert_memory_equal(again, bytes, len);
	audit_free(&l);
	free(again);
	free(text);
	free(peer);
	free(bytes);
}

/* Each place where the golden log may be cut: what is before it is there, and the error names a place. */
static void cut(void **state)
{
	size_t len;
	char *bytes = file("tests/golden/audit.log", &len);
	struct audit_log whole;

	(void)state;
	assert_null(audit_read(bytes, len, &whole));
	for (size_t n = 0, i = 0; n < len; n += n < 3000 ? 1 : 37) {
		char *part = malloc(n + 1);
		struct audit_log l;
		struct err *err;

		memcpy(part, bytes, n);
		while (i < whole.n && whole.message[i].at + whole.message[i].size <= n)
			i++;
		err = audit_read(part, n, &l);
		assert_int_equal(l.n, i);
		assert_int_equal(err != NULL, (i ? whole.message[i - 1].at + whole.message[i - 1].size : 0) != n);
		assert_true(!err || strstr(err->msg, "at byte"));
		err_free(err);
		audit_free(&l);
		free(part);
	}
	audit_free(&whole);
	free(bytes);
}

static void newest(void **state)
{
	char *text = NULL, buf[16];
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct audit_memory *m;
	struct audit_log l;
	bool known[16];

	(void)state;
	audit_write_memory(f, "a", 0x10f8, "aaaaaaaaaaaaaaaa", 16);	/* over the edge of a grain */
	audit_write_event(f, "one", 5, NULL, 0);
	audit_write_memory(f, "b", 0x10fc, "bbbb", 4);
	audit_write_memory(f, "b", 0x110c, "cc", 2);
	audit_write_memory(f, "none", 0x2000, "", 0);
	audit_write_event(f, "two", 6, NULL, 0);
	audit_write_memory(f, "end", UINT64_MAX - 4, "zzzz", 4);
	fclose(f);
	assert_null(audit_read(text, len, &l));
	assert_int_equal(l.n, 7);
	assert_null(audit_memory_create(&l, &m));
	assert_int_equal(audit_memory_read(m, 1, 0x10f8, buf, known, 16), 16);
	assert_memory_equal(buf, "aaaaaaaaaaaaaaaa", 16);
	assert_int_equal(audit_memory_read(m, 5, 0x10fa, buf, known, 16), 14);
	assert_memory_equal(buf, "aabbbbaaaaaaaa\0\0", 16);
	assert_true(known[13] && !known[14] && !known[15]);
	assert_int_equal(audit_memory_read(m, 5, 0x1100, buf, known, 16), 10);
	assert_memory_equal(buf, "aaaaaaaa\0\0\0\0cc\0\0", 16);
	assert_true(known[7] && !known[8] && !known[11] && known[12] && known[13]);
	assert_int_equal(audit_memory_read(m, 0, 0x10f8, buf, known, 16), 0);
	assert_int_equal(audit_memory_at(m, 5, 0x10fc), 2);
	assert_int_equal(audit_memory_at(m, 2, 0x10fc), 0);
	assert_int_equal(audit_memory_at(m, 5, 0x2000), SIZE_MAX);
	assert_int_equal(audit_memory_read(m, 7, UINT64_MAX - 8, buf, known, 16), 4);
	assert_memory_equal(buf + 4, "zzzz", 4);
	audit_memory_destroy(m);
	audit_free(&l);
	free(text);
}

/* As the article of 2017 has it, packed by msgpack-c in its shortest forms; attributes of any kind. */
static void encodings(void **state)
{
	msgpack_sbuffer sb;
	msgpack_packer pk;
	struct audit_log l;
	const struct audit_attribute *a;
	size_t len;
	char *again;

	(void)state;
	msgpack_sbuffer_init(&sb);
	msgpack_packer_init(&pk, &sb, msgpack_sbuffer_write);
#define STR(s) msgpack_pack_str_with_body(&pk, s, strlen(s))
	msgpack_pack_map(&pk, 4);
	STR("data"); msgpack_pack_bin_with_body(&pk, "xyz", 3);
	STR("address"); msgpack_pack_uint64(&pk, 5);
	STR("type"); STR("memory");
	STR("hint"); STR("char[]");
	msgpack_pack_map(&pk, 7);
	STR("event"); STR("odd"); STR("type"); STR("event");
	STR("list"); msgpack_pack_array(&pk, 2); msgpack_pack_map(&pk, 1); STR("k"); msgpack_pack_nil(&pk); msgpack_pack_double(&pk, 1.5);
	STR("minus"); msgpack_pack_int(&pk, -100000);
	STR("yes"); msgpack_pack_true(&pk);
	STR("data"); msgpack_pack_int(&pk, 7);
	STR("nanotime"); msgpack_pack_uint64(&pk, 9);
#undef STR
	assert_null(audit_read(sb.data, sb.size, &l));
	assert_int_equal(l.n, 2);
	assert_true(audit_text_is(l.message[0].name, "char[]") && audit_text_is(l.message[0].data, "xyz") && l.message[0].addr == 5);
	assert_int_equal(l.message[1].attributes, 4);
	assert_int_equal(l.message[1].nanotime, 9);
	a = audit_attribute(&l, &l.message[1], "data");
	assert_true(a && a->kind == AUDIT_NUMBER && a->number == 7);
	assert_int_equal(audit_attribute(&l, &l.message[1], "minus")->kind, AUDIT_OTHER);
	again = written(&l, &len);
	audit_free(&l);
	assert_null(audit_read(again, len, &l));
	assert_int_equal(l.message[1].attributes, 4);
	assert_true(!memcmp(audit_attribute(&l, &l.message[1], "list")->text.p, "\x92\x81\xa1k\xc0\xcb", 6));
	audit_free(&l);
	free(again);
	msgpack_sbuffer_destroy(&sb);
}

/* Many attributes: a map16, where RaptorJIT's macro breaks the stream; msgpack-c reads it. */
static void many_attributes(void **state)
{
	struct audit_attribute a[300];
	char *text = NULL, name[300][8];
	msgpack_unpacked u;
	struct audit_log l;
	size_t len, off = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		snprintf(name[i], sizeof(name[i]), "a%u", i);
		a[i] = (struct audit_attribute){ .name = { name[i], strlen(name[i]) }, .number = i };
	}
	audit_write_event(f, "wide", 1, a, 300);
	fclose(f);
	assert_null(audit_read(text, len, &l));
	assert_int_equal(l.message[0].attributes, 300);
	assert_int_equal(audit_attribute(&l, &l.message[0], "a299")->number, 299);
	msgpack_unpacked_init(&u);
	assert_int_equal(msgpack_unpack_next(&u, text, len, &off), MSGPACK_UNPACK_SUCCESS);
	assert_int_equal(u.data.via.map.size, 303);
	assert_int_equal(off, len);
	msgpack_unpacked_destroy(&u);
	audit_free(&l);
	free(text);
}

static void refused(const char *bytes, size_t len, const char *why)
{
	struct audit_log l;
	struct err *err = audit_read(bytes, len, &l);

	assert_non_null(err);
	assert_int_equal(err->code, ERR_TRACE);
	assert_non_null(strstr(err->msg, why));
	err_free(err);
	audit_free(&l);
}

static void lies(void **state)
{
	size_t deep = 1 << 20;
	char *nest = malloc(deep + 8);

	(void)state;
	refused("\xdf\xff\xff\xff\xff", 5, "a count promises");
	refused("\x81\xa4" "type\xdb\xff\xff\xff\xff" "memory", 16, "a length goes");
	refused("\x81\xa1" "a\xdd\xff\xff\xff\xff", 8, "a count promises");
	refused("\x80", 1, "no memory, blob or event");
	refused("\x93\x01\x02\x03", 4, "no map");
	refused("\x81\x01\x02", 3, "no text");
	refused("\x81\xa1" "a\xc1", 4, "msgpack does not have");
	refused("\x81\xa4" "type\xa5" "event", 12, "without a name");
	refused("\x81\xa4" "type\xa6" "memory", 13, "without address");
	refused("\x84\xa4" "type\xa6" "memory\xa7" "address\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa4" "data\xa2xx\xa4hint\xa1h", 47, "beyond the last address");
	/* a million maps in each other: as an attribute, and as messages */
	memset(nest, 0x81, deep);
	memcpy(nest, "\x81\xa1" "a", 3);
	refused(nest, deep, "a count promises");
	for (size_t i = 3; i + 2 < deep; i += 2)
		memcpy(nest + i, "\x81\x01", 2);
	refused(nest, deep - 1, "");
	free(nest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),     cmocka_unit_test(cut),		 cmocka_unit_test(newest),
		cmocka_unit_test(encodings),  cmocka_unit_test(many_attributes), cmocka_unit_test(lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
