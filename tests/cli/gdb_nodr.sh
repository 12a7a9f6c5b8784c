#!/bin/bash
# test: timeout=120
# Going back where debug registers never trigger: gdb_backwards once more, with protected pages and int3s instead.
export HINDSIGHT_NODR=1
. "$ROOT/tests/cli/gdb_backwards.sh"
