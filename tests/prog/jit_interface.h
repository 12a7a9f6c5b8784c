/*
 * jit_interface.h - GDB's JIT interface for test programs: puts the code of an object file somewhere and tells of it.
 *
 * The object has one section with code, without relocations, and debug information.
 */
#ifndef TESTS_PROG_JIT_INTERFACE_H
#define TESTS_PROG_JIT_INTERFACE_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JIT_REGISTER = 1, JIT_UNREGISTER = 2 };

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile_addr;
	uint64_t symfile_size;
};
struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};
struct jit_descriptor __jit_debug_descriptor = { 1, 0, NULL, NULL };
void __attribute__((noinline)) __jit_debug_register_code(void);
void __attribute__((noinline)) __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

struct jit_object { char *bytes; size_t size; };

static inline struct jit_object jit_object_read(const char *path)
{
	struct jit_object o;
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		exit(1);
	o.size = (size_t)st.st_size;
	o.bytes = malloc(o.size);
	if (!o.bytes || read(fd, o.bytes, o.size) != st.st_size)
		exit(1);
	close(fd);
	return o;
}

static inline void jit_tell(struct jit_code_entry *e, uint32_t action)
{
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = action;
	__jit_debug_register_code();
}

/* Copies the code to `to` and registers a copy of the object that says so. */
static inline struct jit_code_entry *jit_load(const struct jit_object *o, char *to)
{
	struct jit_code_entry *e = calloc(1, sizeof(*e));
	char *copy = malloc(o->size);
	Elf64_Ehdr *eh = (void *)copy;
	Elf64_Shdr *sh;

	if (!e || !copy)
		exit(1);
	memcpy(copy, o->bytes, o->size);
	sh = (void *)(copy + eh->e_shoff);
	for (int i = 1; i < eh->e_shnum; i++)
		if ((sh[i].sh_flags & SHF_EXECINSTR) && sh[i].sh_size) {
			memcpy(to, copy + sh[i].sh_offset, sh[i].sh_size);
			sh[i].sh_addr = (uintptr_t)to;
		}
	e->symfile_addr = copy;
	e->symfile_size = o->size;
	e->next = __jit_debug_descriptor.first;
	if (e->next)
		e->next->prev = e;
	__jit_debug_descriptor.first = e;
	jit_tell(e, JIT_REGISTER);
	return e;
}

/* The entry stays with the caller, who frees it with jit_free(). */
static inline void jit_unload(struct jit_code_entry *e)
{
	*(e->prev ? &e->prev->next : &__jit_debug_descriptor.first) = e->next;
	if (e->next)
		e->next->prev = e->prev;
	jit_tell(e, JIT_UNREGISTER);
}

static inline void jit_free(struct jit_code_entry *e)
{
	free((void *)(uintptr_t)e->symfile_addr);
	free(e);
}

#endif
