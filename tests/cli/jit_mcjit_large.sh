#!/bin/bash
# test: timeout=1800 soak
# An object with more than forty thousand sections, as MCJIT makes them.
TEMPLATES=5450 . "$ROOT/tests/cli/jit_mcjit.sh"
