/*
 * heap_read.c - text heap profiles, as gperftools and tcmalloc write them.
 *
 *	heap profile: 6: 3145728 [ 10: 5242880] @ heap_v2/524288
 *	  1: 1048576 [ 1: 1048576] @ 0x4006a1 0x7f00aabbccdd
 *				live objects: bytes [allocated ones: bytes] @ stack, leaf first
 *	MAPPED_LIBRARIES:
 *	00400000-...							/proc/PID/maps
 *
 * A profile that was sampled ("heap_v2/RATE": an allocation for every RATE bytes on average) has
 * too few small blocks; one of a stack's blocks of average size A was seen with probability 1 -
 * exp(-A/RATE), and the numbers are divided by that.  "heap/N" is the same with half of N.
 * Addresses are return addresses: one less lies in the call.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/output/internal.h"

enum { STACK = 1024 };
#define HEAD "heap profile:"
#define LIBRARIES "MAPPED_LIBRARIES:"

struct counts { int64_t live, live_bytes, all, all_bytes; };

bool heap_is_text(const char *bytes, size_t len)
{
	return len > strlen(HEAD) && !memcmp(bytes, HEAD, strlen(HEAD));
}

static bool number(char **at, char after, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(*at, &end, 10);
	if (end == *at || errno || *ret < 0)
		return false;
	while (*end == ' ')
		end++;
	if (*end != after)
		return false;
	*at = end + 1;
	return true;
}

/* "N: BYTES [N: BYTES] @", up to behind the @. */
static bool counts_read(char **at, struct counts *ret)
{
	char *end;

	if (!number(at, ':', &ret->live))
		return false;
	errno = 0;
	ret->live_bytes = strtoll(*at, &end, 10);
	if (end == *at || errno || ret->live_bytes < 0)
		return false;
	*at = end + strspn(end, " ");
	if (*(*at)++ != '[' || !number(at, ':', &ret->all) || !number(at, ']', &ret->all_bytes))
		return false;
	*at += strspn(*at, " ");
	return *(*at)++ == '@';
}

static int64_t bounded(double v)
{
	return v >= 9.2e18 ? INT64_MAX : (int64_t)v;
}

static void unsample(int64_t *count, int64_t *bytes, int64_t rate)
{
	double scale;

	if (!*count || !*bytes || rate <= 1)
		return;
	scale = 1 / (1 - exp(-((double)*bytes / (double)*count) / (double)rate));
	*count = bounded((double)*count * scale);
	*bytes = bounded((double)*bytes * scale);
}

/* Reads the text that follows the first line's @. */
static struct err *rate_read(const char *kind, int64_t *ret)
{
	const char *slash;
	char *end;

	kind += strspn(kind, " ");
	slash = strchr(kind, '/');
	*ret = 1;
	if (!strncmp(kind, "heapprofile", 11) || !strncmp(kind, "growthz", 7) ||
	    !strncmp(kind, "fragmentationz", 14))
		return NULL;
	if (strncmp(kind, "heap", 4))
		return err_new(ERR_USAGE, "it is a '%.30s', not a heap profile", kind);
	if (!slash)
		return NULL;
	*ret = strtoll(slash + 1, &end, 10);
	if (end == slash + 1 || *ret < 0)
		return err_new(ERR_USAGE, "its sampling rate is no number");
	if (strncmp(kind, "heap_v2", 7) && strncmp(kind, "heapz_v2", 8))
		*ret /= 2;
	return NULL;
}

static struct err *line_read(struct profile *p, char *line, size_t lineno, int64_t rate)
{
	uint32_t stack[STACK];
	struct counts c;
	size_t n = 0;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return NULL;
	if (!counts_read(&line, &c))
		return err_new(ERR_USAGE, "line %zu is not 'N: BYTES [N: BYTES] @ ADDRESS...'",
			       lineno);
	for (char *end; n < STACK; line = end) {
		uint64_t addr = strtoull(line, &end, 16);

		if (end == line)
			break;
		addr -= addr ? 1 : 0;
		stack[n++] = profile_location_add(p, addr, profile_mapping_at(p, addr), NULL, 0);
	}
	if (line[strspn(line, " \t\r")])
		return err_new(ERR_USAGE, "line %zu: %s", lineno,
			       n == STACK ? "its stack is too deep" : "an address is no number");
	unsample(&c.live, &c.live_bytes, rate);
	unsample(&c.all, &c.all_bytes, rate);
	profile_sample_add(
		p, stack, n, (const int64_t[]){ c.all, c.all_bytes, c.live, c.live_bytes },
		c.live ? &(struct profile_label){ "bytes", NULL, c.live_bytes / c.live, "bytes" }
		       : NULL,
		c.live ? 1 : 0);
	return NULL;
}

/* Up to the next newline, which becomes a NUL; NULL at the end. */
static char *next_line(char **at)
{
	char *line = *at, *nl = line ? strchr(line, '\n') : NULL;

	if (nl)
		*nl = 0;
	*at = nl ? nl + 1 : NULL;
	return line && (*line || nl) ? line : NULL;
}

struct err *heap_read(char *bytes, size_t len, struct profile *p)
{
	char *maps, *at = bytes, *line;
	struct counts total;
	size_t lineno = 1;
	int64_t rate;

	if (memchr(bytes, 0, len))
		return err_new(ERR_USAGE, "it has bytes that are no text");
	maps = strstr(bytes, "\n" LIBRARIES);
	if (maps)
		*maps = 0;
	line = next_line(&at);
	line += strlen(HEAD);
	if (!counts_read(&line, &total))
		return err_new(ERR_USAGE,
			       "its first line is not 'heap profile: N: BYTES [N: BYTES] @ KIND'");
	TRY(rate_read(line, &rate));
	profile_type_add(p, "alloc_objects", "count");
	profile_type_add(p, "alloc_space", "bytes");
	profile_type_add(p, "inuse_objects", "count");
	profile_type_add(p, "inuse_space", "bytes");
	profile_type_default(p, 3);
	profile_period(p, "space", "bytes", rate);
	/* First the mappings: each address belongs to one. */
	if (maps)
		profile_maps_text(p, maps + 1 + strlen(LIBRARIES));
	while ((line = next_line(&at))) {
		lineno++;
		TRY(line_read(p, line, lineno, rate));
	}
	return NULL;
}
