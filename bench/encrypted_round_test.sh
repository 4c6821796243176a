#!/usr/bin/env bash
# bench/encrypted_round, with few numbers: rows of both schemes, with an error that float32 may have.
# usage: encrypted_round_test.sh ENCRYPTED_ROUND
set -euo pipefail
for scheme in tenseal openfhe; do
  row=$("$1" 10000 3 $scheme)
  echo "$row"
  # Two ciphertexts.
  grep -qE "^\| 10000 \| $scheme \| 3 \| 0[.][1-9] \| 0[.][1-9] \| [0-9.]+ \| [0-9.]+ \| [0-9][.][0-9]e-(0[7-9]|1[0-9]) \|$" \
    <<<"$row" || { echo "expected another row" >&2; exit 1; }
done
if "$1" 10000 3 none; then
  echo "a scheme that does not exist is no error" >&2
  exit 1
fi
