#!/bin/bash
# test: timeout=180
# tar and gzip of a tree, piped, and back again; the files are those of a plain run.
. "$LIB"
tree=/usr/include/linux
[ -d $tree ] || tree=/usr/include
both bash -c "tar -C $tree -cf - . | gzip -n -6 > t.tar.gz && gzip -dc t.tar.gz | tar -tf - | sort && tar -xzf t.tar.gz ./stat.h && ls"
same_files
