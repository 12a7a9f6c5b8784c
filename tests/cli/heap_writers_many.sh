#!/bin/bash
# test: timeout=900 soak
# heap_writers with 100 fields.
WRITERS=100
. "$ROOT/tests/cli/heap_writers.sh"
