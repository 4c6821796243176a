#!/usr/bin/env bash
# The machine code of the loops that multiply: sums that do not fit into the registers would be
# written to the stack and read again in every turn, which no result shows.
set -euo pipefail
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not x86-64"; exit 0; }
for needed in python3 nm objdump; do
  command -v "$needed" >/dev/null || { echo "skipped: no $needed"; exit 0; }
done
for library in "$@"; do
  [[ $library == *.a ]] || continue
  nm "$library" >"$TEST_TMPDIR/symbols"
  if grep -qE ' U __(asan|tsan|ubsan)_' "$TEST_TMPDIR/symbols"; then
    echo "skipped: a sanitizer's code is other code"
    exit 0
  fi
  objdump --disassemble --demangle --no-show-raw-insn "$library" >"$TEST_TMPDIR/code"
  python3 "$TEST_SRCDIR/$TEST_WORKSPACE/kernels/conv/gemm/machine_code.py" <"$TEST_TMPDIR/code"
  exit
done
echo "no library among: $*" >&2
exit 1
