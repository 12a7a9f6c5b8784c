/*
 * cores.h - what the files say that tell of processors, for cores.c.
 */
#ifndef RECORDER_CORES_H
#define RECORDER_CORES_H

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"
#define BUS_DIR "/sys/bus/cpu"

/* A file of dir becomes text; who has the one from before open keeps that. */
void cores_file_put(const char *dir, const char *name, const char *text);
/* To be freed; NULL: it cannot be read. */
char *cores_file_get(const char *path);
/* The numbers of processors from first on, so many, as a list ("0-3"). */
void cores_list_put(const char *dir, const char *name, unsigned first, unsigned n);

/* /proc/cpuinfo, which real is, with so many processors; to be freed; NULL: no memory. */
char *cpuinfo_text(const char *real, unsigned cores);
/*
 * Cuts a table with a column for each processor, behind a name with a colon, under a first line
 * that names them (/proc/interrupts).
 */
char *cores_columns_text(const char *real, unsigned cores);
/* Cuts a line with a number for each processor (cpuacct.usage_percpu). */
char *cores_numbers_text(const char *real, unsigned cores);

/* Below dir: cpu, node and bus, for CPU_DIR, NODE_DIR and BUS_DIR, without processors ... */
void cores_sys_make(const char *dir, unsigned cores);
void cores_nodes_make(const char *dir, unsigned cores);
/* ... and these, in all three. */
void cores_each_make(const char *dir, unsigned cores);

#endif
