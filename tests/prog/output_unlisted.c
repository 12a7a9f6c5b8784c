// test: warns
/* Outputs that no row of the table lists: pointers inside arguments, lengths only the kernel knows, partial results. */
#include "test.h"
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_bridge.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static int sock;

/* All that came back, whatever it is. */
static void show(const char *what, long ret, const void *bytes, size_t len)
{
	const unsigned char *b = bytes;
	unsigned long sum = 5381;
	int e = errno;

	for (size_t i = 0; i < len; i++)
		sum = sum * 33 + b[i];
	printf("%s %ld %s %lx\n", what, ret, ret < 0 ? strerror(e) : "", sum);
}

static void ethtool(unsigned cmd, unsigned a, unsigned b)
{
	struct ifreq q = { .ifr_name = "lo" };
	unsigned *w = calloc(1, 8192);

	memset(w + 3, 0x77, 64);
	w[0] = cmd;
	w[1] = a;
	w[2] = b;
	q.ifr_data = (void *)w;
	show("ethtool", ioctl(sock, SIOCETHTOOL, &q), w, 8192);
	free(w);
}

static void bridges(void)
{
	int list[16] = { 0 };
	unsigned long args[3] = { BRCTL_GET_BRIDGES, (unsigned long)list, 16 };

	show("bridges", ioctl(sock, SIOCGIFBR, args), list, sizeof(list));
}

static long bpf(int cmd, void *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(union bpf_attr));
}

static void bpf_map(unsigned type, unsigned value_size)
{
	union bpf_attr a = { .map_type = type, .key_size = 4, .value_size = value_size, .max_entries = 8 };
	struct bpf_map_info info = { 0 };
	unsigned key = 3, next = 99;
	unsigned char *value = malloc(65536);
	int fd = (int)bpf(BPF_MAP_CREATE, &a);

	show("map", fd < 0 ? -1 : 0, "", 0);
	if (fd < 0)
		return;
	memset(value, 0x5a, 65536);
	memset(&a, 0, sizeof(a));
	a.map_fd = (unsigned)fd;
	a.key = (unsigned long)&key;
	a.value = (unsigned long)value;
	CHECK_EQ(bpf(BPF_MAP_UPDATE_ELEM, &a), 0);
	for (int i = 0; i < 3; i++) {
		memset(value, 0, 65536);
		CHECK_EQ(bpf(BPF_MAP_LOOKUP_ELEM, &a), 0);
		CHECK_EQ(value[0], 0x5a);
		CHECK_EQ(value[value_size - 1], 0x5a);
	}
	a.key = 0;
	a.next_key = (unsigned long)&next;
	CHECK_EQ(bpf(BPF_MAP_GET_NEXT_KEY, &a), 0);
	show("next", 0, &next, 4);
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (unsigned)fd;
	a.info.info_len = sizeof(info);
	a.info.info = (unsigned long)&info;
	show("info", bpf(BPF_OBJ_GET_INFO_BY_FD, &a), &info, sizeof(info));
	CHECK_EQ(info.value_size, value_size);
	if (type == BPF_MAP_TYPE_ARRAY) {
		unsigned batch = 0, keys[8], out = 0;

		memset(&a, 0, sizeof(a));
		a.batch.map_fd = (unsigned)fd;
		a.batch.out_batch = (unsigned long)&out;
		a.batch.keys = (unsigned long)keys;
		a.batch.values = (unsigned long)value;
		a.batch.count = 8;
		show("batch", bpf(BPF_MAP_LOOKUP_BATCH, &a), value, value_size * 8);
		show("keys", batch, keys, sizeof(keys));
		show("count", out, &a, sizeof(a));
	}
	close(fd);
	free(value);
}

/* Without an address only the length is written. */
static void no_address(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "" };
	int s[2], l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t len;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	for (int i = 0; i < 4; i++) {
		len = 0;
		CHECK_EQ(getsockname(s[0], NULL, &len), 0);
		CHECK_EQ(len, 2);
		len = 0;
		CHECK_EQ(getpeername(s[0], NULL, &len), 0);
		CHECK_EQ(len, 2);
		len = 50;
		show("getsockname", getsockname(s[0], NULL, &len), &len, 4);
		len = 0;
		show("getsockname 8", getsockname(s[0], (void *)8, &len), &len, 4);
	}
	CHECK_EQ(bind(l, (void *)&name, 2), 0);
	CHECK_EQ(listen(l, 4), 0);
	len = sizeof(name);
	CHECK_EQ(getsockname(l, (void *)&name, &len), 0);
	CHECK_EQ(connect(c, (void *)&name, len), 0);
	len = 77;
	CHECK(accept(l, NULL, &len) >= 0);
	CHECK_EQ(len, 77);
	close(c);
	close(l);
	close(s[0]);
	close(s[1]);
}

static void semaphores(void)
{
	int id = semget(IPC_PRIVATE, 40, 0600);
	unsigned short in[40], out[40];

	CHECK(id >= 0);
	for (int i = 0; i < 40; i++)
		in[i] = (unsigned short)(i * 7);
	CHECK_EQ(semctl(id, 0, SETALL, in), 0);
	memset(out, 0, sizeof(out));
	CHECK_EQ(semctl(id, 0, GETALL, out), 0);
	CHECK_EQ(memcmp(in, out, sizeof(in)), 0);
	semctl(id, 0, IPC_RMID);
}

/* The second half of the buffer is not there. */
static void half_a_buffer(void)
{
	size_t size = 512 << 10;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *text = malloc(size);
	int fds[2], s[2];
	struct iovec iov[2];

	munmap(p + size / 2, size / 2);
	memset(text, 'm', size);
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(write(fds[1], text, 4096), 4096);
	show("read", read(fds[0], p + size / 2 - 1000, 300 << 10), p, size / 2);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	CHECK_EQ(send(s[0], text, 100000, 0), 100000);
	memset(p, 'a', size / 2);
	show("recv", recv(s[1], p + size / 2 - 90000, 100000, 0), p, size / 2);
	CHECK_EQ(send(s[0], text, 150000, 0), 150000);
	memset(p, 'b', size / 2);
	iov[0] = (struct iovec){ p, 140000 };
	iov[1] = (struct iovec){ (void *)8, 10000 };
	show("readv", readv(s[1], iov, 2), p, size / 2);
	munmap(p, size / 2);
	free(text);
}

static volatile int go = 1;
static volatile long turns;

static void *computes(void *arg)
{
	char *p = arg;

	while (go) {
		p[turns % 4096]++;
		if (++turns % 1000 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ifreq q = { .ifr_name = "lo" };
	struct ethtool_value *v = (void *)(shared + 4096);

	sock = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(sock >= 0);
	for (int round = 0; round < 2; round++) {
		ethtool(ETHTOOL_GSSET_INFO, 0, 1u << ETH_SS_FEATURES);
		ethtool(ETHTOOL_GSTRINGS, ETH_SS_FEATURES, 100);
		ethtool(ETHTOOL_GFEATURES, 2, 0);
		ethtool(ETHTOOL_GDRVINFO, 0, 0);
		ethtool(ETHTOOL_GLINK, 0, 0);
		ethtool(ETHTOOL_GET_TS_INFO, 0, 0);
		bridges();
		semaphores();
		no_address();
		half_a_buffer();
		bpf_map(BPF_MAP_TYPE_ARRAY, 100);
		bpf_map(BPF_MAP_TYPE_HASH, 5000);
		bpf_map(BPF_MAP_TYPE_PERCPU_ARRAY, 12);
		if (round == 0)
			CHECK_EQ(pthread_create(&thread, NULL, computes, shared), 0);
	}
	for (int i = 0; i < 20; i++) {	/* into shared memory, while the other computes */
		v->cmd = ETHTOOL_GLINK;
		v->data = 99;
		q.ifr_data = (void *)v;
		CHECK_EQ(ioctl(sock, SIOCETHTOOL, &q), 0);
		CHECK_EQ(v->data, 1);
	}
	go = 0;
	pthread_join(thread, NULL);
	printf("%ld turns\n", turns);
	return success();
}
