/* The tables themselves: complete, ordered, named as everybody else names the calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/unistd.h>
#include <dlfcn.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "abi/internal.h"

/* Newer than the oldest headers we build with. */
#ifndef __NR_cachestat
enum {
	__NR_cachestat = 451, __NR_fchmodat2, __NR_map_shadow_stack, __NR_futex_wake,
	__NR_futex_wait, __NR_futex_requeue, __NR_statmount, __NR_listmount,
	__NR_lsm_get_self_attr, __NR_lsm_set_self_attr, __NR_lsm_list_modules, __NR_mseal,
	__NR_setxattrat, __NR_getxattrat, __NR_listxattrat, __NR_removexattrat,
	__NR_open_tree_attr, __NR_file_getattr, __NR_file_setattr, __NR_listns,
	__NR_uretprobe = 335, __NR_uprobe,
};
#endif
enum { LAST_IN_HEADERS = __NR_set_mempolicy_home_node };

/* Each name has the number that the system's headers give it. */
#define SYSCALL(nr, name, ...) _Static_assert(nr == __NR_##name, #name);
#define COMMANDS(nr, name, ...) _Static_assert(nr == __NR_##name, #name);
#include "abi/syscalls.def"
#undef SYSCALL
#undef COMMANDS

static bool has_row(uint64_t nr)
{
	return nr < SYS_ROWS && sys_name(nr);
}

static void dense(void **state)
{
	(void)state;
	for (uint64_t nr = 0; nr <= LAST_IN_HEADERS; nr++)
		assert_true(has_row(nr) == (nr <= 336 || nr >= 424));
	for (uint64_t nr = LAST_IN_HEADERS; nr <= 470; nr++)
		assert_true(has_row(nr));
	assert_null(sys_name(SYS_ROWS));
	assert_null(sys_name(~0ull));
}

/* libseccomp is loaded by hand so that the build does not depend on it. */
static void names_agree(void **state)
{
	void *lib = dlopen("libseccomp.so.2", RTLD_NOW);
	char *(*name_of)(uint32_t, int) = NULL;
	int (*number_of)(uint32_t, const char *) = NULL;
	unsigned known = 0;

	(void)state;
	if (!lib)
		skip();
	*(void **)&name_of = dlsym(lib, "seccomp_syscall_resolve_num_arch");
	*(void **)&number_of = dlsym(lib, "seccomp_syscall_resolve_name_arch");
	assert_non_null(name_of);
	assert_non_null(number_of);
	for (int nr = 0; nr < SYS_ROWS; nr++) {
		char *name = name_of(SCMP_ARCH_X86_64, nr);

		if (!name)
			continue;
		known++;
		if (!has_row((uint64_t)nr))
			fail_msg("%d %s has no row", nr, name);
		assert_string_equal(name, sys_name((uint64_t)nr));
		free(name);
	}
	assert_true(known >= 360);
	dlclose(lib);
}

static bool reads_count(const struct sys_arg *a)
{
	switch (a->len) {
	case L_ARG: case L_RET: case L_VALRES: case L_FDSET: case L_ARG_ANY: case L_PAGES:
	case L_RET_FITS: case L_RET_PLUS: case L_RECV: case L_VALLEN: case L_PEEK_RET:
	case L_NODES: case L_MNTID: case L_CAPDATA: case L_NEST: case L_NEST_RET:
	case L_NEST_ANY:
		return true;
	}
	return false;
}

static void check_row(const struct sys_row *row, const char *name)
{
	bool bad = row->nargs > 6 || row->replay > REPLAY_EXECUTE || row->buffer > BUFFER_ASK;

	bad |= row->hook > 1 || row->wait > SYS_WAIT_IN_HOOK;
	/* What shapes the task is not run behind the recorder's back before the buffer has looked at it. */
	bad |= row->replay == REPLAY_EXECUTE && (!row->hook || (row->buffer != BUFFER_NEVER && row->buffer != BUFFER_ASK));
	bad |= row->replay == REPLAY_UNSUPPORTED && row->buffer != BUFFER_NEVER;
	/* BLOCK says "may block", FAST "cannot". */
	bad |= row->buffer == BUFFER_FAST && row->wait != SYS_WAIT_NO;
	bad |= row->buffer == BUFFER_BLOCK && row->wait == SYS_WAIT_NO;
	/* What sleeps in the hook is a call that the hook makes. */
	bad |= row->wait == SYS_WAIT_IN_HOOK && row->buffer != BUFFER_BLOCK;
	for (unsigned i = 0; i < 6; i++) {
		const struct sys_arg *a = &row->arg[i];

		bad |= i < row->nargs && reads_count(a) && a->arg >= row->nargs;
		bad |= i >= row->nargs && a->what && a->len != L_NEST && a->len != L_NEST_RET &&
		       a->len != L_NEST_ANY;
		bad |= a->what == W_MEM && a->dir & D_OUT && !a->unit && a->len == L_FIXED;
	}
	if (bad)
		fail_msg("%s: the row contradicts itself", name);
}

static void rows_make_sense(void **state)
{
	(void)state;
	for (uint64_t nr = 0; nr < SYS_ROWS; nr++) {
		if (has_row(nr))
			check_row(&sys_rows[nr], sys_name(nr));
	}
	for (unsigned i = 0; i < sys_cmds_count; i++)
		check_row(&sys_cmds[i].row, "command");
}

/* The binary search needs the order; equal neighbours would be duplicates. */
static void commands_are_sorted(void **state)
{
	uint64_t last = 0;

	(void)state;
	assert_true(sys_cmds_count > 700);
	for (unsigned i = 0; i < sys_cmds_count; i++) {
		uint64_t key = (uint64_t)sys_cmds[i].table << 32 | sys_cmd_key(sys_cmds[i].cmd);

		if (key <= last)
			fail_msg("table %u: command %#x is out of order", sys_cmds[i].table,
				 sys_cmds[i].cmd);
		last = key;
	}
}

static const char *cmd(uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	const char *name = sys_cmd_name(nr, (uint64_t[6]){ a0, a1, a2 });

	return name ? name : "none";
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(cmd(__NR_ioctl, 3, 0x5401, 0), "TCGETS");
	assert_string_equal(cmd(__NR_ioctl, 3, 0xffffffff00005413, 0), "TIOCGWINSZ");
	assert_string_equal(cmd(__NR_ioctl, 3, 0x80086601, 0), "FS_IOC_GETFLAGS");
	assert_string_equal(cmd(__NR_ioctl, 3, 0x12345678, 0), "none");
	assert_string_equal(cmd(__NR_fcntl, 3, 1030, 0), "F_DUPFD_CLOEXEC");
	assert_string_equal(cmd(__NR_futex, 0, 129, 0), "FUTEX_WAKE");
	assert_string_equal(cmd(__NR_futex, 0, 9 | 128 | 256, 0), "FUTEX_WAIT_BITSET");
	assert_string_equal(cmd(__NR_quotactl, 0x80000701, 0, 0), "Q_GETQUOTA");
	assert_string_equal(cmd(__NR_quotactl_fd, 3, 0x80000702, 0), "Q_GETQUOTA");
	assert_string_equal(cmd(__NR_prctl, 15, 0, 0), "PR_SET_NAME");
	assert_string_equal(cmd(__NR_prctl, 0x53564d41, 0, 0), "PR_SET_VMA");
	assert_string_equal(cmd(__NR_semctl, 0, 0, 13), "GETALL");
	assert_string_equal(cmd(__NR_seccomp, 3, 0, 0), "SECCOMP_GET_NOTIF_SIZES");
	assert_string_equal(cmd(__NR_read, 0, 0, 0), "none");
	assert_string_equal(cmd(~0ull, 0, 0, 0), "none");
	assert_string_equal(sys_errno_name(2), "ENOENT");
	assert_string_equal(sys_errno_name(11), "EAGAIN");
	assert_string_equal(sys_errno_name(512), "ERESTARTSYS");
	assert_string_equal(sys_errno_name(516), "ERESTART_RESTARTBLOCK");
	assert_null(sys_errno_name(0));
	assert_null(sys_errno_name(-1));
	assert_null(sys_errno_name(4096));
	assert_string_equal(sys_signal_name(11), "SIGSEGV");
	assert_string_equal(sys_signal_name(31), "SIGSYS");
	assert_string_equal(sys_signal_name(37), "SIGRT3");
	assert_string_equal(sys_signal_name(64), "SIGRT30");
	assert_null(sys_signal_name(0));
	assert_null(sys_signal_name(65));
	for (int e = 1; e < 4096; e++) {
		if (strerrorname_np(e))
			assert_string_equal(sys_errno_name(e), strerrorname_np(e));
	}
	for (int s = 1; s < 32; s++) {
		if (s != 29)	/* IO and POLL are the same signal */
			assert_string_equal(sys_signal_name(s) + 3, sigabbrev_np(s));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dense), cmocka_unit_test(names_agree),
		cmocka_unit_test(rows_make_sense), cmocka_unit_test(commands_are_sorted),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("abi table", tests, NULL, NULL);
}
