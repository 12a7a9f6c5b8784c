/*
 * stack.h - a stack as large as we need, whatever limit we were started with (ulimit -s).
 */
#ifndef BASE_STACK_H
#define BASE_STACK_H

/* Returns fn(argc, argv), which runs on a stack of 8 MB: on the one at hand where that may grow so
 * far, else on one of our own.  The limit itself stays, for programs that we start.  Once only. */
int stack_run(int (*fn)(int argc, char **argv), int argc, char **argv);

#endif
