/*
 * page.h - the size of a page on x86-64.
 */
#ifndef ABI_PAGE_H
#define ABI_PAGE_H

enum { PAGE_BYTES = 4096 };

#endif
