/*
 * stack_shapes.c - code without unwind information, in shapes that can be followed for certain and
 * others that cannot.  Each computes for a while: stack_shapes SHAPE.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef void code_fn(uint64_t n, void *stack);
static uint8_t *code;
static size_t at;

static void *begin(size_t more)
{
	at = (at + 15) & ~(size_t)15;
	memset(code + at, 1, more);
	at += more;
	return code + at;
}

static void emit(const char *bytes, size_t n)
{
	memcpy(code + at, bytes, n);
	at += n;
}
#define EMIT(s) emit(s, sizeof(s) - 1)

static void emit_call(const void *to)
{
	int32_t rel = (int32_t)((const uint8_t *)to - (code + at + 5));

	EMIT("\xe8");
	emit((char *)&rel, 4);
}

#define LOOP "\x48\xff\xcf\x75\xfb"			/* dec rdi; jnz */
/* As Mono's: no frame pointer, registers saved by mov; each calls the one before. */
static void *fixed_frames(void)
{
	void *f = begin(0);

	EMIT("\x48\x83\xec\x18\x4c\x89\x3c\x24\x49\x89\xff" LOOP "\x4c\x8b\x3c\x24\x48\x83\xc4\x18\xc3");
	for (int i = 0; i < 2; i++) {
		void *inner = f;

		f = begin(0);
		EMIT("\x48\x83\xec\x28\x48\x89\x7c\x24\x08");
		emit_call(inner);
		EMIT("\x48\x83\xc4\x28\xc3");
	}
	return f;
}

/* The same, and the innermost is called through a register. */
static void *called_by_pointer(void)
{
	uint8_t *inner = begin(0), *f;

	EMIT("\x48\x83\xec\x18" LOOP "\x48\x83\xc4\x18\xc3");
	f = begin(0);
	EMIT("\x48\x83\xec\x08\x48\xb8");
	emit((char *)&inner, 8);
	EMIT("\xff\xd0\x48\x83\xc4\x08\xc3");
	return f;
}

static void *frame_pointers(void)
{
	void *f = begin(7);	/* where functions begin is not to be seen */

	EMIT("\x55\x48\x89\xe5\x48\x83\xec\x20" LOOP "\xc9\xc3");
	for (int i = 0; i < 2; i++) {
		void *inner = f;

		f = begin(7);
		EMIT("\x55\x48\x89\xe5\x48\x83\xec\x40");
		emit_call(inner);
		EMIT("\xc9\xc3");
	}
	return f;
}

/* Its return address is in its frame once more, and nothing says where it begins. */
static void *copied_return(void)
{
	void *f = begin(7);

	EMIT("\x48\x8b\x04\x24\x48\x83\xec\x40\x48\x89\x44\x24\x08" LOOP "\x48\x83\xc4\x40\xc3");
	return f;
}

/* On a stack of its own, where no return address lies. */
static void *other_stack(void)
{
	void *f = begin(7);

	EMIT("\x41\x54\x49\x89\xe4\x48\x89\xf4" LOOP "\x4c\x89\xe4\x41\x5c\xc3");
	return f;
}

/* In a module, but nobody can say how far rsp is. */
void aligned(uint64_t n, void *stack);
__asm__(".text\n.type aligned, @function\naligned:\n"
	"push %r12\nmov %rsp, %r12\nand $-256, %rsp\n1: dec %rdi\njnz 1b\n"
	"mov %r12, %rsp\npop %r12\nret\n.size aligned, .-aligned");
/* In a module, and its instructions say it. */
void inferred(uint64_t n, void *stack);
__asm__(".text\n.type inferred, @function\ninferred:\n"
	"push %r12\nsub $200, %rsp\n1: dec %rdi\njnz 1b\nadd $200, %rsp\npop %r12\nret\n"
	".size inferred, .-inferred");

__attribute__((noinline)) static void in_c(uint64_t n, void *stack)
{
	(void)stack;
	while (n--)
		__asm__ volatile("");
}

__attribute__((noinline)) static void run(code_fn *f, char *stack)
{
	f(200000000, stack + 65536 - 256);
	__asm__ volatile("");
}

static code_fn *wanted;
static void *thread(void *stack)
{
	run(wanted, stack);
	return NULL;
}

int main(int argc, char **argv)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *name = argc > 1 ? argv[1] : "";
	pthread_t t;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = 32;
	wanted = !strcmp(name, "fixed")	   ? (code_fn *)fixed_frames()
		 : !strcmp(name, "late")    ? (code_fn *)fixed_frames()
		 : !strcmp(name, "pointer") ? (code_fn *)called_by_pointer()
		 : !strcmp(name, "frames")  ? (code_fn *)frame_pointers()
		 : !strcmp(name, "copied")  ? (code_fn *)copied_return()
		 : !strcmp(name, "stack")   ? (code_fn *)other_stack()
		 : !strcmp(name, "aligned") ? aligned
		 : !strcmp(name, "inferred") ? inferred
					     : in_c;
	if (!strcmp(name, "late")) {	/* code by mprotect(), long after its mapping */
		mprotect(code, 4096, PROT_READ | PROT_WRITE);
		in_c(100000000, NULL);
		mprotect(code, 4096, PROT_READ | PROT_EXEC);
	}
	if (strcmp(name, "thread")) {
		run(wanted, stack);
		return 0;
	}
	pthread_create(&t, NULL, thread, stack);
	pthread_join(t, NULL);
	return 0;
}
