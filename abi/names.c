/*
 * names.c - names for what the tables number.  Tracer side only: an array of strings needs
 * relocations, so none of this may reach the blob.
 */
#include "abi/internal.h"
#include "abi/syscall_args.h"

static const char *const call_names[SYS_ROWS] = {
#define SYSCALL(nr, name, ...) [nr] = #name,
#define COMMANDS(nr, name, ...) [nr] = #name,
#include "abi/syscalls.def"
#undef SYSCALL
#undef COMMANDS
};

/* In step with sys_cmds. */
static const char *const cmd_names[] = {
#define CMD_ROW(table, cmd, name, ...) #name,
#include "abi/commands.def"
#undef CMD_ROW
};

static const char *const errno_names[] = {
#define ERRNO(n, name) [n] = #name,
#include "abi/errnos.def"
#undef ERRNO
};

static const char *const signal_names[] = {
	[1] = "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE",
	"SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
	"SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU",
	"SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
	/* libc keeps the first two real-time signals for itself and counts from 34. */
	"SIG32", "SIG33",
	"SIGRT0", "SIGRT1", "SIGRT2", "SIGRT3", "SIGRT4", "SIGRT5", "SIGRT6", "SIGRT7",
	"SIGRT8", "SIGRT9", "SIGRT10", "SIGRT11", "SIGRT12", "SIGRT13", "SIGRT14", "SIGRT15",
	"SIGRT16", "SIGRT17", "SIGRT18", "SIGRT19", "SIGRT20", "SIGRT21", "SIGRT22", "SIGRT23",
	"SIGRT24", "SIGRT25", "SIGRT26", "SIGRT27", "SIGRT28", "SIGRT29", "SIGRT30",
};
_Static_assert(sizeof(signal_names) == 65 * sizeof(char *), "64 signals");

const char *sys_name(uint64_t nr)
{
	return nr < SYS_ROWS ? call_names[nr] : NULL;
}

const char *sys_cmd_name(uint64_t nr, const uint64_t args[6])
{
	int i = sys_cmd_index(nr, args);

	return i < 0 ? NULL : cmd_names[i];
}

const char *sys_errno_name(int e)
{
	if (e < 0 || (size_t)e >= sizeof(errno_names) / sizeof(errno_names[0]))
		return NULL;
	return errno_names[e];
}

const char *sys_signal_name(int sig)
{
	return sig > 0 && sig <= 64 ? signal_names[sig] : NULL;
}
