#!/usr/bin/env bash
# Runs the tests in a script of Python, with the package of //apps/python.
# usage: python_test.sh apps/python/NAME_test.py
set -euo pipefail
export PYTHONPATH=$PWD/apps/python PYTHONDONTWRITEBYTECODE=1
# As a module: a script's own folder, with its symbolic links resolved, would come first.
exec /usr/bin/python3 -X faulthandler -W error -m unittest "$@"
