/*
 * server.c - one command table; a handler fills in exactly one reply.
 *
 * The row whose prefix is the longest one that fits handles a packet; what fits none gets the empty
 * reply, which means "not supported".  qSupported's answer is made from the same rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "gdbserver/internal.h"

struct command {
	const char *prefix;
	handler *run;
	const char *supported;	/* in qSupported's answer; NULL for nothing */
};

/* ---- the connection -------------------------------------------------------------------------- */

static void do_no_ack(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_ok(s);		/* this one is still acknowledged */
	s->no_ack = true;
}

static void do_extended(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	s->extended = true;
	reply_ok(s);
}

static void let_go(struct server *s, const char *p)
{
	uint64_t pid;

	if (parse_char(&p, ';') && parse_hex(&p, &pid)) {
		if (s->extended && s->known_n == 1) {	/* it may be run again */
			s->breaks_n = 0;
			err_free(process_breaks(s));
		} else {
			process_let_go(s, (int)(pid & INT32_MAX));
		}
		s->done = !s->known_n && !s->extended;
	} else {
		s->done = true;
	}
	threads_unchosen(s);
	reply_ok(s);
}

static void do_detach(struct server *s, const char *p, size_t len)
{
	(void)len;
	let_go(s, p);
}

static void do_kill(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	s->done = s->out.none = true;
}

static handler do_supported;

static const struct command commands[] = {
	{ "!", do_extended, NULL },
	{ "?", do_why, NULL },
	{ "c", do_continue, NULL },
	{ "C", do_continue, NULL },
	{ "s", do_step, NULL },
	{ "S", do_step, NULL },
	{ "bc", do_back, "ReverseContinue+" },
	{ "bs", do_back, "ReverseStep+" },
	{ "D", do_detach, "multiprocess+" },
	{ "g", do_registers, NULL },
	{ "G", do_set_registers, NULL },
	{ "H", do_choose, NULL },
	{ "k", do_kill, NULL },
	{ "m", do_memory, NULL },
	{ "M", do_set_memory, NULL },
	{ "X", do_set_memory_binary, NULL },
	{ "p", do_register, NULL },
	{ "P", do_set_register, NULL },
	{ "T", do_alive, NULL },
	{ "Z", do_insert, "swbreak+" },
	{ "z", do_remove, "hwbreak+;ConditionalBreakpoints+" },
	{ "vCont;", do_vcont, "vContSupported+" },
	{ "vCont?", do_vcont_ask, NULL },
	{ "vFile:", do_file, NULL },
	{ "vKill", do_detach, NULL },
	{ "vRun;", do_run_again, NULL },
	{ "vAttach;", do_attach, NULL },
	{ "R", do_run_again, NULL },
	{ "qAttached", do_attached, NULL },
	{ "qC", do_current, NULL },
	{ "qRcmd,", do_monitor, NULL },
	{ "qSupported", do_supported, NULL },
	{ "qThreadExtraInfo", do_thread_info, NULL },
	{ "qXfer:auxv:read:", do_auxv, "qXfer:auxv:read+" },
	{ "qXfer:exec-file:read:", do_exec_file, "qXfer:exec-file:read+" },
	{ "qXfer:features:read:", do_features, "qXfer:features:read+" },
	{ "qXfer:libraries-svr4:read:", do_libraries, "qXfer:libraries-svr4:read+" },
	{ "qXfer:memory-map:read:", do_memory_map, "qXfer:memory-map:read+" },
	{ "_M", do_memory_new, NULL },
	{ "_m", do_memory_drop, NULL },
	{ "qHostInfo", do_host_info, NULL },
	{ "qProcessInfo", do_process_info, NULL },
	{ "QThreadSuffixSupported", do_thread_suffix, NULL },
	{ "jThreadsInfo", do_threads_json, NULL },
	{ "qThreadStopInfo", do_thread_stop, NULL },
	{ "x", do_memory_binary, NULL },
	{ "qXfer:osdata:read:", do_osdata, "qXfer:osdata:read+" },
	{ "qXfer:siginfo:read:", do_siginfo, "qXfer:siginfo:read+" },
	{ "qXfer:siginfo:write:", do_siginfo_write, "qXfer:siginfo:write+" },
	{ "qGetTLSAddr:", do_tls_address, NULL },
	{ "qSearch:memory:", do_search, NULL },
	{ "qMemoryRegionInfo", do_memory_info, NULL },
	{ "qXfer:threads:read:", do_threads_xml, "qXfer:threads:read+" },
	{ "qfThreadInfo", do_threads, "fork-events+" },
	{ "qsThreadInfo", do_threads_end, "exec-events+" },
	{ "QStartNoAckMode", do_no_ack, "QStartNoAckMode+" },
	{ "QCatchSyscalls:", do_catch_calls, "QCatchSyscalls+" },
	{ "QPassSignals:", do_pass_signals, "QPassSignals+" },
	{ "QProgramSignals:", do_accept, "QProgramSignals+" },
	{ "QThreadEvents:", do_thread_events, "QThreadEvents+;vfork-events+" },
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void do_supported(struct server *s, const char *p, size_t len)
{
	(void)len;
	catch_supported(s, p);
	reply_text(&s->out, "PacketSize=%x", PACKET_MAX / 2);
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (commands[i].supported)
			reply_text(&s->out, ";%s", commands[i].supported);
	}
}

/* lldb: "p10;thread:1f;".  Cuts it off; s->tid is what it was before. */
static size_t take_suffix(struct server *s, char *packet, size_t len)
{
	char *at = memmem(packet, len, ";thread:", 8);
	const char *p = at ? at + 8 : NULL;
	int64_t pid, tid;

	if (!at || !strchr("gGpPmMxX", *packet) || !parse_thread(&p, &pid, &tid) ||
	    !parse_char(&p, ';') || *p || tid <= 0)
		return len;
	s->tid = (int)tid;
	*at = '\0';
	return (size_t)(at - packet);
}

static void dispatch(struct server *s, char *packet, size_t len)
{
	int tid = s->tid;

	const struct command *best = NULL;
	size_t best_len = 0;

	if (s->suffix)
		len = take_suffix(s, packet, len);
	for (unsigned i = 0; i < COMMANDS; i++) {
		size_t n = strlen(commands[i].prefix);

		if (n > best_len && n <= len && !memcmp(packet, commands[i].prefix, n)) {
			best = &commands[i];
			best_len = n;
		}
	}
	if (best)
		best->run(s, packet + best_len, len - best_len);
	s->listing = packet[0] == 'T';
	if (s->suffix && strchr("gGpPmMxX", packet[0]))
		s->tid = tid;
}

struct err *gdbserver_run(struct replay *r, int fd, bool ours, const char *debug_dir)
{
	static char packet[PACKET_MAX + 1];
	struct server *s = calloc(1, sizeof(*s));
	struct err *err;
	size_t len;

	if (!s)
		return &err_nomem;
	s->r = r;
	s->fd = fd;
	s->debug_dir = debug_dir;
	s->jit_told = s->jit_new = ours;
	s->always = eventfd(1, EFD_CLOEXEC);
	target_init(s);
	reply_bytes(&s->out, "", 0);
	while (!s->done && packet_read(s, packet, &len)) {
		log_debug("packet %.60s", packet);
		dispatch(s, packet, len);
		log_debug("reply  %.60s", s->out.bytes);
		if (!s->out.none && !packet_send(s))
			break;
	}
	replay_interrupt_from(r, -1);
	file_close_all(s);
	if (s->always >= 0)
		close(s->always);
	monitor_deinit(s);
	free(s->known);
	free(s->only);
	free(s->only_text);
	free(s->implied);
	err = s->err;
	free(s->out.bytes);
	free(s);
	return err;
}
