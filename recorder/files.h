/*
 * files.h - the files of the recorded processes: descriptors, what is mapped, what is answered in
 * place of a file.
 */
#ifndef RECORDER_FILES_H
#define RECORDER_FILES_H

#include "recorder/task.h"

/* A file, as it was when it was looked at. */
struct rec_version { uint64_t dev, ino, size, mtime_s, mtime_ns; };
static inline struct rec_version rec_version_of(const struct stat *st)
{
	return (struct rec_version){ st->st_dev, st->st_ino, (uint64_t)st->st_size,
				     (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec };
}

/* ---- files.c ---------------------------------------------------------------------- */
/* Opens the file behind a descriptor of the task for us; -1 when it cannot be opened. */
int rec_fd_open(struct rec_task *t, int fd);
void rec_fd_forget(struct rec_files *files, uint64_t first, uint64_t last);
/* A file was mapped: descriptors that looked plain may be it. */
void rec_fd_reclassify(struct recorder *rec);
enum fd_class rec_fd_class(struct recorder *rec, struct rec_task *t, int fd);
/* The size of the file behind fd (or of this name) may have changed, in a call of t's. */
void rec_fd_cut(struct recorder *rec, struct rec_task *t, int fd);
void rec_path_cut(struct recorder *rec, struct rec_task *t, uint64_t path);
/* The task has made fallocate, or FICLONE, on fd. */
void rec_fd_allocated(struct recorder *rec, struct rec_task *t, int fd, uint64_t mode, uint64_t off,
		      uint64_t len);
void rec_fd_cloned(struct recorder *rec, struct rec_task *t, int fd);
/*
 * Returns the file position of a descriptor: the offset that the pointer names, else that of
 * fdinfo; -1: unknown.
 */
int64_t rec_fd_position(struct rec_task *t, int fd, uint64_t pointer);
/* A call wrote ret bytes of its spans to a file: adds the effects, for echo and for mappings. */
void rec_fd_written(struct recorder *rec, struct rec_task *t, struct rec_call *call, int64_t ret);

/* ---- mapped.c: files and shared memory that are mapped --------------------------------------- */
/* Returns the file as some task has it mapped, rather one that is live; NULL: none has. */
struct rec_file *rec_file_find(const struct stat *st);
/*
 * Adds a file, of a mapping that is being made; its object holds the file as st says.  keep: a
 * descriptor to hold open and read the file by, -1: none.
 */
struct rec_file *rec_file_add(const struct stat *st, uint32_t object, bool live, int keep);
/* Replay is to follow the file from now on: adds an effect, if that is news. */
void rec_file_live(struct recorder *rec, struct rec_file *f);
/* The mapping was not made after all: drops the file. */
void rec_file_unused(struct rec_file *f);
/*
 * Makes effects of what a call did to the file that st describes, if a task has it mapped. fd: to
 * read it, or -1.
 */
void rec_file_changed(struct recorder *rec, const struct stat *st, int fd, uint64_t off,
		      uint64_t len);
void rec_file_zeroed(struct recorder *rec, const struct stat *st, int fd, uint64_t off,
		     uint64_t len);
/* The content behind off has moved. */
void rec_file_shifted(struct recorder *rec, const struct stat *st, int fd, uint64_t off);
/* The size of the file may have changed, and nothing else: adds an effect where it has. */
void rec_file_resized(struct recorder *rec, const struct stat *st, int fd);
/*
 * Adds the bytes that a mapping finds behind the end of the file f, open as fd, to its object.
 * fresh: the object has zeros there.
 */
void rec_file_tail(struct recorder *rec, const struct rec_file *f, int fd, bool fresh);
/* Notes for all files what mappings have stored behind the end, or says of which it has gone. */
void rec_files_tails(struct recorder *rec, bool gone);
/* rec_file_resized() of all that can be looked at. */
void rec_files_resized(struct recorder *rec);

/* ---- kept.c: files that nobody has mapped any more ------------------------------------------- */
/* The file, open as fd, is about to be mapped and taken: watches it, so that it may be kept. */
void rec_kept_watch(const struct stat *st, int fd);
/* The last mapping has gone: keeps its object for the next one, if that is possible. */
void rec_kept_put(const struct rec_file *f);
/*
 * The file that st describes is being mapped.  True: nobody has changed it, and *object_ret has its
 * content, but for what is behind its end in the last page.  The watch goes on.
 */
bool rec_kept_take(const struct stat *st, uint32_t *object_ret);
/* The file is mapped in a way in which a kept object does not follow. */
void rec_kept_drop(const struct stat *st);

/* ---- mapped.c again: mappings of files ------------------------------------------------------- */
void rec_shared_add(struct rec_mm *mm, const struct rec_shared *s);
void rec_shared_cut(struct rec_mm *mm, uint64_t addr, uint64_t len);
/* mremap: what was at [addr, addr + len) is at [to, to + to_len); stays: at the old place, too. */
void rec_shared_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len,
		     bool stays);
/* Adds WRITE effects for all pages of the mapping that are not zero. */
void rec_effect_pages(struct recorder *rec, struct rec_task *t, const struct tracee_map *m);

/* ---- status.c: /proc/PID/status ------------------------------------------------------ */
bool rec_status_is(struct recorder *rec, struct rec_task *t, int fd);
/*
 * Called at the exit stop of a read: corrects what the text says of filters, in the task's memory.
 */
void rec_status_read(struct recorder *rec, struct rec_task *t, int64_t ret);

/* ---- cores.c: how many processors the program sees ------------------------------------------- */

void rec_cores_start(struct recorder *rec);
void rec_cores_deinit(struct recorder *rec);
/* A call begins: where it asks a file for processors, the kernel gets the path of another one. */
void rec_cores_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call);
/* Returns the processor that the task believes to run on. */
unsigned rec_cores_current(const struct rec_task *t);

#endif
