#!/bin/bash
# test: timeout=180
# ls -lR of the headers.
. "$LIB"
both ls -lR /usr/include
