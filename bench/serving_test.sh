#!/usr/bin/env bash
# bench/serving, for a moment: a row for each size of requests.
# usage: serving_test.sh SERVING SERVE
set -euo pipefail
table=$("$1" --server="$2" --models=simplecnn8 --samples=4,1 --connections=2,3 --seconds=0.05 --rounds=2)
echo "$table"
row='^\| simplecnn8 \| fp32 \| [41] \| [23] \| [1-9][0-9]* \| [1-9][0-9]* \| [1-9][0-9]* % \| [1-9][0-9]* % \| [0-9.]+ \| [0-9.]+ \|$'
[[ $(grep -cE "$row" <<<"$table") == 2 ]] || { echo "expected two rows" >&2; exit 1; }
! "$1" --server=/bin/false --models=simplecnn8 || { echo "a server that ends is no error" >&2; exit 1; }
