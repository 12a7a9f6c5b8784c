/*
 * library.h - which files of a program are the C library's, the dynamic loader's and the C++
 * library's, by their paths.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>

/* Each takes the path of a mapped file; NULL is the path of no library. */

/* The dynamic loader: glibc's or musl's. */
bool library_is_loader(const char *path);
/* The C library with its parts (libpthread), or the dynamic loader. */
bool library_is_c(const char *path);
/* GNU's or LLVM's C++ library. */
bool library_is_cxx(const char *path);

#endif
