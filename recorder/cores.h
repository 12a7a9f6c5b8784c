/*
 * cores.h - what the files say that tell of processors, for cores.c.
 */
#ifndef RECORDER_CORES_H
#define RECORDER_CORES_H

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"
#define BUS_DIR "/sys/bus/cpu"

/* Makes text the content of a file in dir; a task that has the file open keeps the old content. */
void cores_file_put(const char *dir, const char *name, const char *text);
/* Returns a file's content, to be freed; NULL: the file cannot be read. */
char *cores_file_get(const char *path);
/* Writes the numbers of n processors, from first on, as a list ("0-3"). */
void cores_list_put(const char *dir, const char *name, unsigned first, unsigned n);

/* Returns real, which is /proc/cpuinfo, with so many processors; to be freed; NULL: no memory. */
char *cpuinfo_text(const char *real, unsigned cores);
/*
 * Cuts a table with a column for each processor, behind a name with a colon, under a first line
 * that names them (/proc/interrupts).
 */
char *cores_columns_text(const char *real, unsigned cores);
/* Cuts a line with a number for each processor (cpuacct.usage_percpu). */
char *cores_numbers_text(const char *real, unsigned cores);
/* Cuts a table with a line for each processor, under one that names columns (cpuacct.usage_all). */
char *cores_rows_text(const char *real, unsigned cores);

/* Make cpu, node and bus below dir, for CPU_DIR, NODE_DIR and BUS_DIR, without processors. */
void cores_sys_make(const char *dir, unsigned cores);
void cores_nodes_make(const char *dir, unsigned cores);
/* Makes the processors in all three. */
void cores_each_make(const char *dir, unsigned cores);

#endif
