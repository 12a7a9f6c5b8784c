/*
 * Objects that JIT compilers register: names and lines at addresses that only section headers tell, objects with very many
 * sections, ones that go away, are replaced or lie; the same answers as llvm-symbolizer's.
 */
#include <elf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/symbols_common.h"

enum { BASE = 0x40000000, FEW = 300, MANY = 66000 };

struct image {
	uint8_t *p;
	size_t n;
	Elf64_Shdr *sh;
	size_t sections;
	uint64_t addr[70000];	/* of code sections */
	size_t n_code;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* n template functions, each in a section of its own. */
static bool build_object(unsigned n, const char *cc, char path[256])
{
	size_t size = 1000 + n * 50ul, len = 0;
	char *text = malloc(size);
	bool ok;

	assert_non_null(text);
	len += (size_t)snprintf(text + len, size - len,
		"template<int N> struct Box { int v[4]; };\n"
		"static inline int twice(int x) {\n	return x * 2 + (x >> 3); }\n"
		"template<int N> int make(Box<N> *b, int k) {\n	b->v[k & 3] = N;\n	return twice(b->v[k >> 1 & 3] + k); }\n");
	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len, "template int make(Box<%u>*,int);\n", i);
	snprintf(path, 256, "%s/many.o", temp_dir);
	ok = build("many", "cc", text, cc, path);
	free(text);
	if (ok) {
		char from[300];

		snprintf(from, sizeof(from), "%s/many", temp_dir);
		assert_int_equal(rename(from, path), 0);
	}
	return ok;
}

/* Functions without end, four lines each; compilers take minutes for so many sections, the assembler does not. */
static bool build_assembly(char path[256])
{
	char command[1200];
	FILE *f;

	snprintf(path, 256, "%s/sections.s", temp_dir);
	f = fopen(path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < MANY; i++)
		fprintf(f, ".section .text.f%u,\"ax\"\n.type f%u,@function\nf%u:\n nop;.size f%u,1\n", i, i, i, i);
	assert_int_equal(fclose(f), 0);
	snprintf(command, sizeof(command), "as -g -o %s/sections.o %s", temp_dir, path);
	snprintf(path, 256, "%s/sections.o", temp_dir);
	return have("as") && system(command) == 0;
}

static struct image *load(const char *path)
{
	struct image *im = calloc(1, sizeof(*im));
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_non_null(im);
	assert_true(fd >= 0 && !fstat(fd, &st));
	im->n = (size_t)st.st_size;
	im->p = malloc(im->n);
	assert_int_equal(read(fd, im->p, im->n), im->n);
	close(fd);
	im->sh = (Elf64_Shdr *)(im->p + ((Elf64_Ehdr *)im->p)->e_shoff);
	im->sections = ((Elf64_Ehdr *)im->p)->e_shnum ? ((Elf64_Ehdr *)im->p)->e_shnum : im->sh[0].sh_size;
	return im;
}

/* As a loader in memory does: an address for each section that is loaded. */
static void place(struct image *im, uint64_t base)
{
	im->n_code = 0;
	for (size_t i = 1; i < im->sections; i++) {
		Elf64_Shdr *sh = &im->sh[i];

		if (!(sh->sh_flags & SHF_ALLOC) || !sh->sh_size)
			continue;
		base = (base + 63) & ~63ull;
		sh->sh_addr = base;
		base += sh->sh_size;
		if (sh->sh_flags & SHF_EXECINSTR)
			im->addr[im->n_code++] = sh->sh_addr;
	}
}

static void drop(struct image *im)
{
	free(im->p);
	free(im);
}

static struct symbols *space(void)
{
	const struct symbols_options o = { .no_debug_files = true };
	struct symbols *s;

	OK(symbols_create(&o, &s));
	return s;
}

static void many_sections(void **state)
{
	static struct symbols_frame f[8];
	struct symbols *s = space();
	struct image *im;
	char path[256], want[32];
	uint64_t id;
	double start;

	(void)state;
	if (!build_assembly(path))
		return;
	im = load(path);
	place(im, BASE);
	print_message("%zu sections, %zu of code\n", im->sections, im->n_code);
	assert_true(im->sections > 0xff00);
	start = seconds();
	OK(symbols_jit_add(s, im->p, im->n, &id));
	for (size_t i = 0; i < im->n_code; i++) {
		size_t n = symbols_lookup(s, im->addr[i], f, 8);

		assert_true(n >= 1 && f[n - 1].jit && f[n - 1].function && f[n - 1].line);
		assert_int_equal(f[0].line, 4 * i + 4);
		snprintf(want, sizeof(want), "f%zu", i);
		assert_string_equal(f[0].function, want);
	}
	print_message("%.3f s for all\n", seconds() - start);
	assert_int_equal(symbols_jit_code(s, id, NULL, 0), im->n_code);
	drop(im);
	symbols_destroy(s);
}

/* "function\nfile:line:column\n" of each frame, innermost first, an empty line after each address. */
static void compare_address(FILE *peer, struct symbols *s, uint64_t addr)
{
	struct symbols_frame f[16];
	size_t n = symbols_lookup(s, addr, f, 16);
	char function[4096], place[4096], want[4096];

	for (size_t i = 0; i < n; i++) {
		assert_non_null(fgets(function, sizeof(function), peer));
		assert_non_null(fgets(place, sizeof(place), peer));
		function[strcspn(function, "\n(")] = 0;
		place[strcspn(place, "\n")] = 0;
		snprintf(want, sizeof(want), "%s:%u:%u", f[i].file, f[i].line, f[i].column);
		assert_string_equal(place, want);
		assert_non_null(strstr(function, f[i].function));
	}
	assert_non_null(fgets(function, sizeof(function), peer));
	assert_string_equal(function, "\n");
}

static void as_llvm(void **state)
{
	struct symbols *s = space();
	char path[256], command[1200];
	struct image *im;
	uint64_t id;
	FILE *peer;
	int fd;

	(void)state;
	if (!have("llvm-symbolizer-14") || !build_object(FEW, "clang++ -c -O1 -g -ffunction-sections", path)) {
		print_message("no llvm-symbolizer-14 here\n");
		return;
	}
	im = load(path);
	place(im, BASE);
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, im->p, im->n), im->n);
	close(fd);
	OK(symbols_jit_add(s, im->p, im->n, &id));
	snprintf(command, sizeof(command), "%s/addresses", temp_dir);
	peer = fopen(command, "w");
	for (size_t i = 0; i < im->n_code; i++)
		fprintf(peer, "0x%lx\n", im->addr[i] + i % 12);
	fclose(peer);
	snprintf(command, sizeof(command), "llvm-symbolizer-14 --obj=%s <%s/addresses", path, temp_dir);
	peer = popen(command, "r");
	assert_non_null(peer);
	for (size_t i = 0; i < im->n_code; i++)
		compare_address(peer, s, im->addr[i] + i % 12);
	pclose(peer);
	drop(im);
	symbols_destroy(s);
}

static const char *name_at(struct symbols *s, uint64_t addr)
{
	struct symbols_frame f[8];
	size_t n = symbols_lookup(s, addr, f, 8);

	return n ? f[n - 1].function : NULL;
}

static void come_and_go(void **state)
{
	struct symbols *s = space(), *child;
	uint64_t first, second, third, addr;
	struct image *im;
	char path[256];

	(void)state;
	if (!build_object(3, "g++ -c -O1 -g -ffunction-sections", path))
		return;
	im = load(path);
	place(im, BASE);
	addr = im->addr[im->n_code - 1];
	OK(symbols_jit_add(s, im->p, im->n, &first));
	assert_string_equal(name_at(s, addr), "make<2>");
	/* The same again, elsewhere. */
	place(im, BASE + 0x100000);
	OK(symbols_jit_add(s, im->p, im->n, &second));
	assert_string_equal(name_at(s, im->addr[im->n_code - 1]), "make<2>");
	assert_string_equal(name_at(s, addr), "make<2>");
	OK(symbols_fork(s, &child));
	symbols_jit_remove(s, first);
	assert_null(name_at(s, addr));
	assert_string_equal(name_at(child, addr), "make<2>");
	assert_string_equal(name_at(s, im->addr[0]), "make<0>");
	/* Newer code over the second's last two functions: what is overwritten is gone, the rest stays. */
	place(im, im->addr[1] - 8);
	OK(symbols_jit_add(s, im->p, im->n, &third));
	assert_string_equal(name_at(s, im->addr[0]), "make<0>");
	symbols_jit_remove(s, 99);
	symbols_jit_remove(s, third);
	symbols_jit_remove(s, third);
	assert_null(name_at(s, im->addr[0]));
	symbols_destroy(child);
	drop(im);
	symbols_destroy(s);
}

/* Registering costs the same, however many there are. */
static void ten_thousand(void **state)
{
	struct symbols *s = space();
	double start, early = 0, late = 0;
	struct image *im;
	char path[256];
	uint64_t id;

	(void)state;
	if (!build_object(1, "g++ -c -O1 -g -ffunction-sections", path))
		return;
	im = load(path);
	for (unsigned i = 0; i < 10000; i++) {
		place(im, BASE + (uint64_t)(i * 7919u % 10000) * 4096);
		start = seconds();
		OK(symbols_jit_add(s, im->p, im->n, &id));
		if (i < 2000)
			early += seconds() - start;
		if (i >= 8000)
			late += seconds() - start;
		if (i % 1000 == 999)
			assert_string_equal(name_at(s, im->addr[0]), "make<0>");
	}
	print_message("%.1f us each at first, %.1f at last\n", early / 2e-3, late / 2e-3);
	drop(im);
	symbols_destroy(s);
}

static void bad_input(void **state)
{
	struct symbols *s = space();
	struct image *im;
	char path[256];
	uint32_t random = 1;
	uint64_t id;

	(void)state;
	err_free(symbols_jit_add(s, "no object", 9, &id));
	err_free(symbols_jit_add(s, NULL, 0, &id));
	if (!build_object(3, "g++ -c -O1 -g -ffunction-sections", path))
		return;
	im = load(path);
	place(im, BASE);
	for (size_t len = 64; len < im->n; len += 1 + im->n / 40)
		err_free(symbols_jit_add(s, im->p, len, &id));
	for (int i = 0; i < 100; i++) {
		size_t at = (random = random * 1103515245 + 12345) % im->n;
		uint8_t old = im->p[at];

		im->p[at] ^= (uint8_t)(1 + i);
		err_free(symbols_jit_add(s, im->p, im->n, &id));
		name_at(s, im->addr[0]);
		im->p[at] = old;
	}
	drop(im);
	symbols_destroy(s);
}

/* Of processor time, the worker's too. */
static double spent(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
	       (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec + children.ru_stime.tv_usec) / 1e6;
}

/*
 * An object that a JIT compiler registered, as `hindsight jit --elf` wrote it: one address in each section of code, the same answers as
 * llvm-symbolizer's.  Forty thousand sections take half a second on a quiet machine; a busy one may need twice the processor time.
 */
static void one_object(void **state)
{
	static struct symbols_frame f[16];
	struct symbols *s = space();
	struct image *im = load(*state);
	char command[5000], list[300];
	double start, took;
	uint64_t id;
	FILE *peer;

	for (size_t i = 1; i < im->sections; i++)
		if ((im->sh[i].sh_flags & SHF_EXECINSTR) && im->sh[i].sh_addr && im->sh[i].sh_size)
			im->addr[im->n_code++] = im->sh[i].sh_addr + im->sh[i].sh_size / 2;
	start = spent();
	OK(symbols_jit_add(s, im->p, im->n, &id));
	for (size_t i = 0; i < im->n_code; i++) {
		size_t n = symbols_lookup(s, im->addr[i], f, 16);

		assert_true(n && f[n - 1].function && f[n - 1].line && f[n - 1].jit);
	}
	took = spent() - start;
	assert_true(took < 1 || im->sections > 50000);
	print_message("%zu sections, %zu of code: %.3f s\n", im->sections, im->n_code, took);
	if (strstr(temp_dir, "XXXXXX"))
		assert_non_null(mkdtemp(temp_dir));
	snprintf(list, sizeof(list), "%s/addresses", temp_dir);
	peer = fopen(list, "w");
	assert_non_null(peer);
	for (size_t i = 0; i < im->n_code; i++)
		fprintf(peer, "0x%lx\n", im->addr[i]);
	fclose(peer);
	snprintf(command, sizeof(command), "llvm-symbolizer-14 --obj='%s' <%s", (const char *)*state, list);
	start = seconds();
	peer = popen(command, "r");
	assert_non_null(peer);
	for (size_t i = 0; i < im->n_code; i++)
		compare_address(peer, s, im->addr[i]);
	pclose(peer);
	print_message("llvm-symbolizer: %.3f s\n", seconds() - start);
	drop(im);
	symbols_destroy(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest one[] = { cmocka_unit_test_prestate(one_object, argv[1]) };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(come_and_go), cmocka_unit_test(as_llvm), cmocka_unit_test(ten_thousand),
		cmocka_unit_test(bad_input), cmocka_unit_test(many_sections),
	};

	return argc > 1 ? cmocka_run_group_tests(one, NULL, remove_temp) : cmocka_run_group_tests(tests, NULL, remove_temp);
}
