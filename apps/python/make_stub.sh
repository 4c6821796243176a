#!/usr/bin/env bash
# The package's types (make_stub.py).
set -euo pipefail
here=$(cd "${RUNFILES_DIR:-$0.runfiles}/dtnn/apps/python" && pwd)
cd / # or "import dtnn" finds the sources
exec env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import sys; exec(sys.stdin.read())' <"$here/make_stub.py"
