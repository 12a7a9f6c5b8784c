#!/bin/bash
# test: timeout=120
# What gdb sees where debug registers never trigger: gdb_target once more, with protected pages and int3s instead.
export HINDSIGHT_NODR=1
. "$ROOT/tests/cli/gdb_target.sh"
