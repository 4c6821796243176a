#!/usr/bin/env bash
# That scale_model's predictions hold where the network decides: tiny batches, whose gradients need
# slow links for longer than the steps take, however busy the machine is.
set -euo pipefail

. comm/testing/host_tests.sh
require_hosts comm/testing/netns_run.sh
cd "$(dirname "$0")"
code=0
./scale_model_check.sh --ranks=none >/dev/null 2>&1 || code=$?
[ $code -eq 1 ] || { echo "FAILED: exit code $code of a wrong number of ranks" >&2; exit 1; }

table=$(./scale_model_check.sh --ranks=2,3 --rate=50mbit --batch-size=1 --steps=3)
echo "$table"
for ranks in 2 3; do
  error=$(sed -n "s/^ *$ranks .* \([-+][0-9.]*\)%.*/\1/p" <<<"$table")
  [ -n "$error" ] || { echo "FAILED: no line for $ranks ranks" >&2; exit 1; }
  awk -v error="$error" 'BEGIN { exit !(error > -40 && error < 40) }' ||
    { echo "FAILED: on $ranks ranks the prediction is wrong by $error %" >&2; exit 1; }
done
echo "PASSED"
