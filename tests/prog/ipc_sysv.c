/* System V semaphores and message queues. */
#include "test.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct message {
	long type;
	char text[100];
};

int main(void)
{
	unsigned short vals[3] = { 1, 2, 3 };
	struct timespec ts = { 0, 2000000 };
	struct message m;
	struct semid_ds sd;
	struct msqid_ds qd;
	struct sembuf op;
	int s = semget(IPC_PRIVATE, 3, IPC_CREAT | 0600), q;
	pid_t pid;

	if (s < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES))
		skip("no System V IPC here");
	CHECK(s >= 0);
	CHECK_EQ(semctl(s, 0, SETALL, vals), 0);
	CHECK_EQ(semctl(s, 0, IPC_STAT, &sd), 0);
	CHECK_EQ(sd.sem_nsems, 3);
	memset(vals, 0, sizeof(vals));
	CHECK_EQ(semctl(s, 0, GETALL, vals), 0);
	CHECK(vals[0] == 1 && vals[2] == 3);
	op = (struct sembuf){ 0, -1, SEM_UNDO };
	CHECK_EQ(semop(s, &op, 1), 0);
	op.sem_flg = IPC_NOWAIT;
	CHECK_ERR(semop(s, &op, 1), EAGAIN);
	op.sem_flg = 0;
	CHECK_ERR(semtimedop(s, &op, 1, &ts), EAGAIN);
	pid = fork();
	if (!pid) {
		CHECK_EQ(semop(s, &op, 1), 0);
		_exit(0);
	}
	op.sem_op = 1;
	CHECK_EQ(semop(s, &op, 1), 0);
	wait_exit(pid, 0);
	CHECK_EQ(semctl(s, 1, GETVAL), 2);
	CHECK_EQ(semctl(s, 0, IPC_RMID), 0);

	q = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	CHECK(q >= 0);
	for (int i = 1; i <= 3; i++) {
		m.type = i;
		snprintf(m.text, sizeof(m.text), "number %d", i);
		CHECK_EQ(msgsnd(q, &m, 10 + i, 0), 0);
	}
	CHECK_EQ(msgrcv(q, &m, 100, 2, 0), 12);
	CHECK(m.type == 2 && !strcmp(m.text, "number 2"));
	CHECK_EQ(msgrcv(q, &m, 3, 0, MSG_NOERROR), 3);
	CHECK_ERR(msgrcv(q, &m, 100, 7, IPC_NOWAIT), ENOMSG);
	CHECK_EQ(msgctl(q, IPC_STAT, &qd), 0);
	CHECK_EQ(qd.msg_qnum, 1);
	pid = fork();
	if (!pid) {
		CHECK_EQ(msgrcv(q, &m, 100, 50, 0), 5);
		_exit(m.text[0]);
	}
	m.type = 50;
	m.text[0] = 17;
	CHECK_EQ(msgsnd(q, &m, 5, 0), 0);
	wait_exit(pid, 17);
	CHECK_EQ(msgctl(q, IPC_RMID, NULL), 0);
	return success();
}
