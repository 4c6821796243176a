#!/usr/bin/env bash
# What the program `dtnn` says and runs, of programs that only say what they are called.
# usage: dtnn_test.sh DTNN.SH
set -euo pipefail

bin=$TEST_TMPDIR/bin
mkdir "$bin"
for name in benchmark predict newest; do
  printf '#!/bin/sh\nif [ "$1" = --version ]; then echo "%s (DTNN) 1.2.3"; exit; fi\n' "$name" >"$bin/$name"
  printf 'echo "%s: $*"\nexit 7\n' "$name" >>"$bin/$name"
  chmod +x "$bin/$name"
done
sed "s#^bin=.*#bin=$bin#" "$1" >"$TEST_TMPDIR/dtnn"

failed=false
# expect EXIT_CODE OUT ERR ARGUMENT...: patterns of all that it writes.
expect() {
  local code=0
  sh "$TEST_TMPDIR/dtnn" "${@:4}" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || code=$?
  [[ $code = "$1" && $(<"$TEST_TMPDIR/out") == $2 && $(<"$TEST_TMPDIR/err") == $3 ]] && return
  echo "FAILED: dtnn ${*:4}: exit code $code" >&2
  cat "$TEST_TMPDIR/out" "$TEST_TMPDIR/err" >&2
  failed=true
}
list=$'usage: dtnn PROGRAM *\n  benchmark          trains or tests a network\n  newest *\n  predict            classifies *'
expect 0 "$list" "" --help
expect 2 "" "$list"
expect 0 "dtnn 1.2.3" "" --version
expect 7 "predict: a  b --help" "" predict "a  b" --help
expect 2 "" 'dtnn: "benchmrk": no such program; did you mean benchmark? (dtnn --help shows all)' benchmrk
expect 2 "" 'dtnn: "pradicts": no such program; did you mean predict? (dtnn --help shows all)' pradicts
expect 2 "" 'dtnn: "colour": no such program (dtnn --help shows all)' colour
expect 2 "" 'dtnn: "a\\b": no such program (dtnn --help shows all)' 'a\b'
expect 2 "" 'dtnn: "..": no such program (dtnn --help shows all)' ..
! $failed
