/*
 * usable.c - what recording and replay need of the system they run in.
 *
 * Without /proc each look at a process finds nothing, with the /proc of another PID namespace it
 * finds another process, and a sandbox may refuse process_vm_readv() or process_vm_writev().  Each
 * of these looks as if the process had died, and nobody would ever report its death.  So they are
 * checked before the start.
 */
#include "tracee/usable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static struct err *check_proc(void)
{
	char own[24], link[24] = "";
	struct stat st;

	snprintf(own, sizeof(own), "%d", (int)getpid());
	if (readlink("/proc/self", link, sizeof(link) - 1) > 0 && !strcmp(link, own))
		return NULL;
	if (!link[0] && stat("/proc/uptime", &st) < 0)
		return err_new(ERR_UNSUPPORTED,
			       "/proc is not mounted here: mount it (mount -t proc proc /proc)");
	return err_new(ERR_UNSUPPORTED,
		       "/proc is that of another PID namespace: mount the own one (unshare "
		       "--mount-proc, or mount -t proc proc /proc)");
}

static struct err *check_memory(void)
{
	char from = 'x', to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 &&
	    process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == 1)
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		       "process_vm_readv and process_vm_writev are refused here (%s): allow them "
		       "in "
		       "the seccomp filter of the sandbox or container",
		       strerror(errno));
}

struct err *tracee_usable(void)
{
	TRY(check_proc());
	return check_memory();
}
