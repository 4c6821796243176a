#!/usr/bin/env bash
# bench/federation, with few clients: a row, where all updates of all rounds were used.
# usage: federation_test.sh FEDERATION
set -euo pipefail
for encryption in none masked; do
  table=$("$1" --clients=8 --idle=5 --values=70000 --rounds=2 --encryption=$encryption)
  echo "$table"
  row="^\| 8 \| 13 \| 70000 \| $encryption \| [0-9.e-]+ [0-9.e-]+ \| [0-9.]+ \| [1-9][0-9]* \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \| 0[.][0-9]+ \| [0-9.]+ \|$"
  grep -qE "$row" <<<"$table" || { echo "expected a row with two rounds" >&2; exit 1; }
done
if (ulimit -n 100 && "$1" --clients=200 --values=10); then
  echo "too few open files are no error" >&2
  exit 1
fi
# Twenty clients with 16 neighbours each, of which three drop out.
"$1" --clients=20 --values=1000 --rounds=1 --encryption=masked --mask-neighbours=1 --drop-out=0.15
