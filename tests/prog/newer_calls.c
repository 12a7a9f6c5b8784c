// test: warns
/* Newer calls that a program probes for: each answers or says ENOSYS/EPERM, and replays. */
#include "test.h"

int main(void)
{
	static const int calls[] = { 424 /* pidfd_send_signal */, 428 /* open_tree */, 432 /* fsmount */, 434 /* pidfd_open */,
		436 /* close_range */, 437 /* openat2 */, 438 /* pidfd_getfd */, 439 /* faccessat2 */, 440 /* process_madvise */,
		444 /* landlock_create_ruleset */, 447 /* memfd_secret */, 448 /* process_mrelease */, 449 /* futex_waitv */,
		451 /* cachestat */, 452 /* fchmodat2 */, 454 /* futex_wake */, 457 /* statmount */, 462 /* mseal */ };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		long r = syscall(calls[i], -1, 0L, 0L, 0L, 0x7fffffffL, 0L);

		printf("%d: %ld %s\n", calls[i], r, r < 0 ? strerror(errno) : "");
		CHECK(r == -1 || calls[i] == 436);
	}
	int fd = open(".", O_PATH | O_DIRECTORY);

	CHECK(fd >= 0);
	return success();
}
