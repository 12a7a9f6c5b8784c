/*
 * cpu_files.c - a directory with files of /sys and /proc that tell of other processors than there
 * are (cores.c): each a core of one thread, all in one package and on one node.
 *
 * What does not tell of the number leads to the real file, of another processor where there is none
 * of that number.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/cores.h"

enum { DIR_MODE = 0755, PATH_BYTES = 320, WORD = 32 };

void cores_file_put(const char *dir, const char *name, const char *text)
{
	char path[PATH_BYTES], fresh[PATH_BYTES + 8];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = fopen(fresh, "we");
	if (!f)
		return;
	fputs(text, f);
	if (fclose(f) == 0)
		rename(fresh, path);
}

char *cores_file_get(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "re");

	if (f && getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

void cores_list_put(const char *dir, const char *name, unsigned first, unsigned n)
{
	char text[32];

	snprintf(text, sizeof(text), n > 1 ? "%u-%u\n" : "%u\n", first, first + n - 1);
	cores_file_put(dir, name, text);
}

/* Writes the processors as a mask of `all' bits, 64 at most: words of 32, the highest first. */
static void mask_put(const char *dir, const char *name, unsigned first, unsigned n, unsigned all)
{
	uint64_t mask = (n == 64 ? UINT64_MAX : (1ull << n) - 1) << first;
	unsigned rest = all % WORD ? all % WORD : WORD, digits = (rest + 3) / 4;
	char text[32];

	if (all > WORD)
		snprintf(text, sizeof(text), "%0*x,%08x\n", (int)digits, (uint32_t)(mask >> WORD),
			 (uint32_t)mask);
	else
		snprintf(text, sizeof(text), "%0*x\n", (int)digits, (uint32_t)mask);
	cores_file_put(dir, name, text);
}

static void number_put(const char *dir, const char *name, unsigned n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u\n", n);
	cores_file_put(dir, name, text);
}

/* Processors of the machine that have a number below this. */
static unsigned real_cores(void)
{
	char path[64];
	unsigned n;

	for (n = 0; n < 1024; n++) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%u", n);
		if (access(path, F_OK) < 0)
			break;
	}
	return n ? n : 1;
}

/* ---- directories ----------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/*
 * Links what else is in `from', but for entries with this name and a number, and for blocks of
 * memory, of which there are hundreds.
 */
static void link_others(const char *from, const char *dir, const char *but)
{
	DIR *d = opendir(from);
	struct dirent *e;
	char path[2 * PATH_BYTES + NAME_MAX], to[2 * PATH_BYTES + NAME_MAX];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !strncmp(e->d_name, "memory", 6) ||
		    (but && !strncmp(e->d_name, but, strlen(but)) &&
		     is_number(e->d_name + strlen(but))))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		snprintf(to, sizeof(to), "%s/%s", from, e->d_name);
		if (symlink(to, path) < 0 && errno != EEXIST)	/* that is ours */
			break;
	}
	if (d)
		closedir(d);
}

void cores_sys_make(const char *dir, unsigned cores)
{
	char cpu[PATH_BYTES];

	snprintf(cpu, sizeof(cpu), "%s/cpu", dir);
	mkdir(cpu, DIR_MODE);
	cores_list_put(cpu, "online", 0, cores);
	cores_list_put(cpu, "possible", 0, cores);
	cores_list_put(cpu, "present", 0, cores);
	if (access(CPU_DIR "/enabled", F_OK) == 0)
		cores_list_put(cpu, "enabled", 0, cores);
	cores_file_put(cpu, "offline", "\n");
	link_others(CPU_DIR, cpu, "cpu");
}

void cores_nodes_make(const char *dir, unsigned cores)
{
	static const char *const which[] = { "online", "possible", "has_cpu" };
	char nodes[128], node[PATH_BYTES];

	if (access(NODE_DIR "/node0", F_OK) < 0)
		return;
	snprintf(nodes, sizeof(nodes), "%s/node", dir);
	mkdir(nodes, DIR_MODE);
	for (unsigned i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		cores_list_put(nodes, which[i], 0, 1);
	snprintf(node, sizeof(node), "%s/node0", nodes);
	mkdir(node, DIR_MODE);
	cores_list_put(node, "cpulist", 0, cores);
	mask_put(node, "cpumap", 0, cores, cores);
	cores_file_put(node, "distance", "10\n");
	link_others(NODE_DIR "/node0", node, "cpu");
	link_others(NODE_DIR, nodes, "node");
}

/* Files of cpuN/topology that name processors: a list, a mask; all of them, or this one. */
static void topology_make(const char *dir, const char *real, unsigned i, unsigned cores)
{
	static const struct { const char *name; bool all; } sets[] = {
		{ "thread_siblings", false }, { "core_cpus", false },	{ "cluster_cpus", false },
		{ "core_siblings", true },    { "package_cpus", true }, { "die_cpus", true },
	};
	char path[PATH_BYTES + 32], name[64];

	mkdir(dir, DIR_MODE);
	for (unsigned k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
		unsigned first = sets[k].all ? 0 : i, n = sets[k].all ? cores : 1;

		snprintf(path, sizeof(path), "%s/%s", real, sets[k].name);
		if (access(path, F_OK) < 0)
			continue;
		mask_put(dir, sets[k].name, first, n, cores);
		snprintf(name, sizeof(name), "%s_list", sets[k].name);
		cores_list_put(dir, name, first, n);
	}
	number_put(dir, "core_id", i);
	number_put(dir, "physical_package_id", 0);
	link_others(real, dir, NULL);
}

static void caches_make(const char *dir, const char *real, unsigned i, unsigned cores)
{
	char index[PATH_BYTES + 16], from[PATH_BYTES + 16], path[PATH_BYTES + 32];

	mkdir(dir, DIR_MODE);
	for (unsigned k = 0; k < 16; k++) {
		char *level;
		bool all;

		snprintf(from, sizeof(from), "%s/index%u", real, k);
		snprintf(path, sizeof(path), "%s/level", from);
		level = cores_file_get(path);
		if (!level)
			continue;
		all = atoi(level) >= 3;
		free(level);
		snprintf(index, sizeof(index), "%s/index%u", dir, k);
		mkdir(index, DIR_MODE);
		mask_put(index, "shared_cpu_map", all ? 0 : i, all ? cores : 1, cores);
		cores_list_put(index, "shared_cpu_list", all ? 0 : i, all ? cores : 1);
		snprintf(path, sizeof(path), "%s/id", from);
		if (access(path, F_OK) == 0)
			number_put(index, "id", all ? 0 : i);
		link_others(from, index, NULL);
	}
	link_others(real, dir, "index");
}

static void cpu_make(const char *cpu, unsigned i, unsigned cores, unsigned real)
{
	char from[64], dir[128], below[PATH_BYTES], to[PATH_BYTES];

	snprintf(dir, sizeof(dir), "%s/cpu%u", cpu, i);
	mkdir(dir, DIR_MODE);
	snprintf(from, sizeof(from), CPU_DIR "/cpu%u", i % real);
	snprintf(below, sizeof(below), "%s/topology", dir);
	snprintf(to, sizeof(to), "%s/topology", from);
	if (access(to, F_OK) == 0)
		topology_make(below, to, i, cores);
	snprintf(below, sizeof(below), "%s/cache", dir);
	snprintf(to, sizeof(to), "%s/cache", from);
	if (access(to, F_OK) == 0)
		caches_make(below, to, i, cores);
	snprintf(to, sizeof(to), "%s/../node/node0", cpu);
	snprintf(below, sizeof(below), "%s/node0", dir);
	if (access(to, F_OK) == 0 && symlink(to, below) < 0)
		return;
	link_others(from, dir, "node");
}

void cores_each_make(const char *dir, unsigned cores)
{
	static const char *const links[] = { "node/node0", "bus/devices" };
	unsigned real = real_cores();
	char cpu[96], path[PATH_BYTES], to[PATH_BYTES];

	snprintf(cpu, sizeof(cpu), "%s/cpu", dir);
	snprintf(path, sizeof(path), "%s/bus", dir);
	mkdir(path, DIR_MODE);
	snprintf(path, sizeof(path), "%s/bus/devices", dir);
	mkdir(path, DIR_MODE);
	for (unsigned i = 0; i < cores; i++) {
		cpu_make(cpu, i, cores, real);
		snprintf(to, sizeof(to), "%s/cpu%u", cpu, i);
		for (unsigned k = 0; k < sizeof(links) / sizeof(links[0]); k++) {
			snprintf(path, sizeof(path), "%s/%s/cpu%u", dir, links[k], i);
			if (symlink(to, path) < 0 && errno != ENOENT)
				return;
		}
	}
	snprintf(path, sizeof(path), "%s/bus", dir);
	link_others(BUS_DIR, path, NULL);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Words of a line that are numbers, from p on; *ends[i] is behind the i-th. */
static unsigned numbers_of(const char *p, const char *end, const char **ends, unsigned max)
{
	unsigned n = 0;

	while (n < max && p < end) {
		p += strspn(p, " ");
		if (!strspn(p, "0123456789"))
			break;
		p += strspn(p, "0123456789");
		ends[n++] = p;
	}
	return n;
}

/* A line of so many columns of the real table: as many as there are to be. */
static void put_columns(FILE *out, const char *line, const char *end, unsigned real, unsigned cores)
{
	const char *colon = memchr(line, ':', (size_t)(end - line));
	const char *from = colon ? colon + 1 : end;
	const char **ends = calloc(real + 1, sizeof(*ends));

	if (!ends || !colon || numbers_of(from, end, ends, real) < real) {	/* ERR:, MIS: */
		fwrite(line, 1, (size_t)(end - line), out);
	} else {
		const char *last = ends[(cores < real ? cores : real) - 1];

		fwrite(line, 1, (size_t)(last - line), out);
		for (unsigned i = real; i < cores; i++)
			fprintf(out, " %10u", 0);
		fwrite(ends[real - 1], 1, (size_t)(end - ends[real - 1]), out);
	}
	free(ends);
}

char *cores_columns_text(const char *text, unsigned cores)
{
	const char *line = strchr(text, '\n');
	unsigned real = 0;
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (const char *p = text; line && (p = strstr(p, "CPU")) && p < line; p++)
		real++;
	if (!out || !real) {
		if (out)
			fclose(out);
		free(ret);
		return NULL;
	}
	fwrite(text, 1, strspn(text, " "), out);
	for (unsigned i = 0; i < cores; i++)
		fprintf(out, "CPU%-8u", i);
	for (; *line; line += 1 + strcspn(line + 1, "\n")) {
		fputc('\n', out);
		if (!line[1])
			break;
		put_columns(out, line + 1, line + 1 + strcspn(line + 1, "\n"), real, cores);
	}
	if (fclose(out) == 0)
		return ret;
	free(ret);
	return NULL;
}

char *cores_numbers_text(const char *text, unsigned cores)
{
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (unsigned i = 0; out && i < cores; i++) {
		size_t n = strspn(text, "0123456789");

		fprintf(out, "%.*s ", n ? (int)n : 1, n ? text : "0");
		text += n + strspn(text + n, " ");
	}
	if (out)
		fputc('\n', out);
	if (out && fclose(out) == 0)
		return ret;
	free(ret);
	return NULL;
}

char *cores_rows_text(const char *text, unsigned cores)
{
	char *ret = NULL;
	size_t size, n = strcspn(text, "\n");
	FILE *out = open_memstream(&ret, &size);

	if (out)
		fprintf(out, "%.*s\n", (int)n, text);
	text += n + (text[n] == '\n');
	for (unsigned i = 0; out && i < cores; i++) {
		n = strcspn(text, "\n");
		if (n)
			fprintf(out, "%.*s\n", (int)n, text);
		else
			fprintf(out, "%u 0 0\n", i);
		text += n + (text[n] == '\n');
	}
	if (out && fclose(out) == 0)
		return ret;
	free(ret);
	return NULL;
}
