/* The numbers of commands in the second tables against the kernel's headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/termios.h>
#include <asm/prctl.h>
#include <linux/blktrace_api.h>
#include <linux/blkpg.h>
#include <linux/blkzoned.h>
#include <linux/bpf.h>
#include <linux/cdrom.h>
#include <linux/dm-ioctl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fcntl.h>
#include <linux/fb.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsmap.h>
#include <linux/fsverity.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <linux/hdreg.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/if_tun.h>
#include <linux/inotify.h>
#include <linux/ipc.h>
#include <linux/kd.h>
#include <linux/keyboard.h>
#include <linux/keyctl.h>
#include <linux/loop.h>
#include <linux/msdos_fs.h>
#include <linux/msg.h>
#include <linux/nsfs.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/quota.h>
#include <linux/random.h>
#include <linux/route.h>
#include <linux/rtc.h>
#include <linux/seccomp.h>
#include <linux/sem.h>
#include <linux/serial.h>
#include <linux/shm.h>
#include <linux/sockios.h>
#include <linux/timerfd.h>
#include <linux/usbdevice_fs.h>
#include <linux/vt.h>
#include <linux/watchdog.h>
#include <linux/wireless.h>
#include <scsi/scsi_ioctl.h>
#include <scsi/sg.h>

#include "tests/unit/abi_newer.h"

/* The headers of netfilter do not go with <net/if_arp.h>. */
enum { IPT_SO_SET_REPLACE = 64, IP6T_SO_SET_REPLACE = 64, ARPT_SO_SET_REPLACE = 96, EBT_SO_SET_ENTRIES = 128,
       EBT_SO_GET_ENTRIES, EBT_SO_GET_INIT_INFO, EBT_SO_GET_INIT_ENTRIES };

#include "abi/syscall_args.h"

/* The commands of getsockopt and setsockopt are level << 16 | option; the headers number the option. */
#define OPTION_BITS(table) ((table) == T_GETSOCKOPT || (table) == T_SETSOCKOPT ? 0xffffu : 0xffffffffu)
#define CMD_ROW(table, value, name, ...) \
	_Static_assert((uint32_t)(name) == UNKNOWN_HERE || \
		       ((uint32_t)(value) & OPTION_BITS(table)) == (uint32_t)(name), #name);
#undef SEMCTL		/* <linux/ipc.h> and subcalls.def both use these */
#undef SHMCTL
#undef MSGCTL
#include "abi/commands.def"
#undef CMD_ROW

/* Structures of ioctls whose number does not carry the size. */
#define SIZE(size, type) _Static_assert(sizeof(type) == (size), #type)
SIZE(36, struct termios);
SIZE(44, struct termios2);
SIZE(18, struct termio);
SIZE(8, struct winsize);
SIZE(72, struct serial_struct);
SIZE(80, struct serial_icounter_struct);
SIZE(32, struct serial_rs485);
SIZE(40, struct ifreq);
SIZE(16, struct ifconf);
SIZE(68, struct arpreq);
SIZE(120, struct rtentry);
SIZE(56, struct vlan_ioctl_args);
SIZE(32, struct iwreq);
SIZE(168, struct loop_info);
SIZE(232, struct loop_info64);
SIZE(304, struct loop_config);
SIZE(160, struct fb_var_screeninfo);
SIZE(80, struct fb_fix_screeninfo);
SIZE(16, struct hd_geometry);
SIZE(512, struct hd_driveid);
SIZE(8, struct vt_mode);
SIZE(6, struct vt_stat);
SIZE(6, struct vt_sizes);
SIZE(12, struct vt_consize);
SIZE(28, struct vt_event);
SIZE(4, struct kbentry);
SIZE(513, struct kbsentry);
SIZE(772, struct kbdiacrs);
SIZE(16, struct unimapdesc);
SIZE(8, struct kbd_repeat);
SIZE(2, struct cdrom_tochdr);
SIZE(12, struct cdrom_tocentry);
SIZE(16, struct cdrom_subchnl);
SIZE(8, struct cdrom_multisession);
SIZE(88, struct sg_io_hdr);

static void compiled(void **state)
{
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(compiled) };

	return cmocka_run_group_tests_name("abi values", tests, NULL, NULL);
}
