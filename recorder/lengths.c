/*
 * lengths.c - outputs whose length only the kernel knows, where it can be asked before the call:
 * how many semaphores a set has, how large the elements of a BPF map are.  Everything else that the
 * table calls OUT_UNKNOWN is left to changes.c.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/internal.h"

static void list(struct sys_plan *plan, uint64_t addr, uint64_t len)
{
	plan->span[plan->n++] = (struct sys_span){ .addr = addr,
						   .cap = len,
						   .at = 6,
						   .dir = D_INOUT,
						   .len_kind = L_FIXED,
						   .unit = (uint32_t)len };
}

/* Numbers of semaphore sets are those of a namespace; ours may be another one. */
static bool same_ipc(const struct rec_task *t)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", t->tid);
	return stat("/proc/self/ns/ipc", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

static bool semaphores(struct rec_task *t, const uint64_t *args, struct sys_plan *plan)
{
	struct semid_ds set;

	if (!same_ipc(t) || syscall(SYS_semctl, (int)args[0], 0, IPC_STAT, &set) < 0 ||
	    !set.sem_nsems)
		return false;
	list(plan, args[3], 2 * set.sem_nsems);
	return true;
}

/* A number in /proc/TID/fdinfo/FD. */
static uint64_t info_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

/* How many processors there can be: "0-7" in a file. */
static uint64_t processors(void)
{
	unsigned long last = 0;
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");

	if (!f || (fscanf(f, "0-%lu", &last) != 1 && ferror(f)))
		last = (unsigned long)sysconf(_SC_NPROCESSORS_CONF);
	if (f)
		fclose(f);
	return last + 1;
}

/* Elements of these exist once for each processor that there can be, in multiples of 8 bytes. */
static bool is_percpu(uint64_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE;
}

static bool map_element(struct rec_task *t, const uint64_t *args, struct sys_plan *plan)
{
	struct { uint32_t map_fd, pad; uint64_t key, value, flags; } attr = { 0 };
	char path[64], text[1024];
	uint64_t size, len = args[2] < sizeof(attr) ? args[2] : sizeof(attr);
	ssize_t n;
	int fd;

	if (tracee_read_user(t->tid, args[1], &attr, len) != len || !attr.value)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", t->tid, attr.map_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	if (args[0] == BPF_MAP_GET_NEXT_KEY) {
		size = info_number(text, "key_size:");
	} else {
		size = info_number(text, "value_size:");
		if (is_percpu(info_number(text, "map_type:")))
			size = (size + 7) / 8 * 8 * processors();
	}
	if (!size)
		return false;
	list(plan, args[1], args[2]);
	list(plan, attr.value, size);
	return true;
}

bool rec_lengths(struct rec_task *t, struct sys_plan *plan)
{
	const struct rec_call *call = &t->call;

	plan->n = 0;
	if (call->nr == SYS_semctl && call->args[2] == GETALL)
		return semaphores(t, call->args, plan);
	if (call->nr != SYS_bpf)
		return false;
	switch (call->args[0]) {
	case BPF_MAP_LOOKUP_ELEM:
	case BPF_MAP_GET_NEXT_KEY:
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
		return map_element(t, call->args, plan);
	default:
		return false;
	}
}
