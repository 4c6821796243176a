#!/usr/bin/env bash
# The committed types are those of the package and its options.
set -euo pipefail
export RUNFILES_DIR=${PWD%/dtnn}
apps/python/make_stub >"$TEST_TMPDIR/made.pyi"
if ! diff -u apps/python/dtnn/__init__.pyi "$TEST_TMPDIR/made.pyi"; then
  echo "run: bazel run //apps/python:make_stub > apps/python/dtnn/__init__.pyi" >&2
  exit 1
fi
/usr/bin/python3 -W error -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$TEST_TMPDIR/made.pyi"
