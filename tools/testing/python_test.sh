#!/usr/bin/env bash
# Runs the tests in a script of Python, with the package of //apps/python.
# usage: python_test.sh apps/python/NAME_test.py
set -euo pipefail
export PYTHONPATH=$PWD/apps/python PYTHONDONTWRITEBYTECODE=1
# The run-time library of a sanitizer has to be there before Python, and the library whose
# exceptions it watches. What Python never frees counts as a leak.
sanitizers=$(ldd apps/python/dtnn/_core.so | sed -n 's/.*=> \([^ ]*lib[a-z]*san\.so[^ ]*\).*/\1/p' | tr '\n' ' ')
if [[ -n $sanitizers ]]; then
  export LD_PRELOAD="$sanitizers libstdc++.so.6" ASAN_OPTIONS=detect_leaks=0
fi
# As a module: a script's own folder, with its symbolic links resolved, would come first.
exec /usr/bin/python3 -X faulthandler -W error -m unittest "$@"
