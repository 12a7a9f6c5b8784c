/*
 * end.c - the end of a recording: requests to end it, and what the program leaves behind.
 *
 * When the first process has ended and others live, rec is told after a moment, and returns
 * (cmd/front.c); we go on.  SIGTERM or SIGINT to the recorder ends all in order: the program gets
 * SIGTERM; when it has ended, so does what it has left behind; what is still there some seconds
 * later is killed.  The trace is whole in any case.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/internal.h"

#define MS 1000000ull
enum { LEFT_MS = 100, GRACE_MS = 5000, REST_MS = 2000, AGAIN_MS = 500, DYING_US = 20000 };

static volatile sig_atomic_t terms, hangup;
static volatile sig_atomic_t given;	/* the program has the signal, by rec */

static void on_term(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code == SI_QUEUE)
		given = 1;
	terms++;
}

static void on_front(int sig)
{
	(void)sig;
	hangup = 1;
}

void rec_end_signals(struct recorder *rec)
{
	static const int ignored[] = { SIGHUP,	SIGQUIT, SIGTTIN, SIGTTOU, SIGTSTP,
				       SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2 };
	struct sigaction term = { .sa_sigaction = on_term, .sa_flags = SA_RESTART | SA_SIGINFO },
			 front = { .sa_handler = on_front };
	sigset_t none;

	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGINT, &term, NULL);
	sigaction(SIGIO, &front, NULL);
	fcntl(rec->options->front, F_SETOWN, getpid());
	fcntl(rec->options->front, F_SETFL, O_NONBLOCK | O_ASYNC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	hangup = 1;		/* it may have died before this */
}

static bool front_is_gone(const struct recorder *rec)
{
	struct pollfd p = { rec->options->front, 0, 0 };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}

static void leave(struct recorder *rec)
{
	rec->end.left = true;
	rec->options->left(rec->options->front_ctx, rec->root_status);
}

/*
 * rec was killed, and its program with it; but not when the program has killed its own process
 * group.
 */
static void front_signal(struct recorder *rec)
{
	hangup = 0;
	if (rec->end.left || !front_is_gone(rec))
		return;
	usleep(DYING_US);
	if (!rec->root_done && !rec_task_is_dying(rec->root))
		kill(getpid(), SIGKILL);
	leave(rec);
}

static void kill_each(const struct recorder *rec, int sig)
{
	for (const struct rec_task *t = rec->tasks; t; t = t->next) {
		if (sig == SIGKILL || t->tid == t->pid)
			kill(t->pid, sig);
	}
}

static void end_rest(struct recorder *rec, uint64_t now)
{
	struct rec_end *e = &rec->end;

	if (!e->rest_ns) {
		e->rest_ns = now;
		kill_each(rec, SIGTERM);
		kill_each(rec, SIGCONT);
	}
	if (now - e->rest_ns > REST_MS * MS)
		kill_each(rec, SIGKILL);
}

static void asked(struct recorder *rec, uint64_t now)
{
	struct rec_end *e = &rec->end;

	if (!e->term_ns) {
		e->term_ns = now;
		if (!rec->root_done && !given)
			kill(rec->root, SIGTERM);
	/* sooner it is one request that came by two ways: timeout(1) */
	} else if (now - e->term_ns > AGAIN_MS * MS) {
		e->kill = true;
	}
	e->terms = terms;
}

void rec_term_check(struct recorder *rec)
{
	struct rec_end *e = &rec->end;
	uint64_t now;

	if (hangup)
		front_signal(rec);
	if (!rec->root_done && !terms)
		return;
	now = now_ns();
	if (terms != e->terms)
		asked(rec, now);
	if (e->kill || (e->term_ns && now - e->term_ns > GRACE_MS * MS))
		kill_each(rec, SIGKILL);
	if (!rec->root_done)
		return;
	if (!e->root_ns)
		e->root_ns = now;
	if (e->term_ns || rec->options->kill_rest)
		end_rest(rec, now);
	else if (!e->left && !rec->options->wait_all && now - e->root_ns > LEFT_MS * MS)
		leave(rec);
}
