// test: cflags=-O0
/*
 * demo_overflow - a heap overflow whose symptom shows long after its cause; what `make demo` debugs.
 *
 * Names are copied into fixed slots; one is too long and runs into its neighbour's balance.
 * Only the audit at the very end notices, 200,000 transactions later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 8, TRANSACTIONS = 200000 };

struct account {
	char name[16];
	long balance;
};

static struct account *accounts;

static void rename_account(struct account *a, const char *name)
{
	for (size_t i = 0; i <= strlen(name); i++)
		a->name[i] = name[i];			/* BUG: no one looks at the size */
}

static void transfer(int from, int to, long amount)
{
	accounts[from].balance -= amount;
	accounts[to].balance += amount;
}

static long audit(void)
{
	long total = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		total += accounts[i].balance;
	return total;
}

int main(void)
{
	accounts = calloc(ACCOUNTS, sizeof(*accounts));
	for (int i = 0; i < ACCOUNTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "account %d", i);
		rename_account(&accounts[i], name);
		accounts[i].balance = 1000;
	}
	for (int n = 0; n < TRANSACTIONS; n++) {
		transfer(n % 3, (n + 1) % 3, 1 + n % 7);
		if (n == 1000)
			rename_account(&accounts[5], "savings of Alice");
		if (n % 50000 == 0)
			printf("%d transactions done\n", n);
	}
	long total = audit();
	printf("total %ld, expected %d\n", total, ACCOUNTS * 1000);
	printf("EXIT-SUCCESS\n");
	return 0;
}
