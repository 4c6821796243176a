#!/usr/bin/env bash
# The host of rank 0 dies, with two ranks, of two hosts joined by TCP:
# mpi_host_fault_test.sh FAULT NETNS_RUN PROGRAM PHASE...
#
# Both ranks of the other host must leave by themselves with exit code 75, and agree that ranks 0
# and 1 are lost, whom no look at their own host's processes could tell. FAULT: see fault_program.
set -euo pipefail
export LC_ALL=C

fault=$1 netns_run=$2 program=$PWD/$3
shift 3
code=0
reason=$("$netns_run" --check 2>&1) || code=$?
if [ $code -eq 77 ]; then
  echo "SKIPPED: $reason"
  exit 0
fi

. tools/testing/mpi_environment.sh
export PATH=$PATH:/usr/sbin:/sbin
base=$(mktemp -d /tmp/dtnn-host.XXXXXX)
job=
end_all() {
  [ -z "$job" ] || kill -KILL "$job" 2>/dev/null || true
  rm -rf "$base"
}
trap end_all EXIT

fail() {
  echo "FAILED ($fault, $phase): $1" >&2
  tail -n +1 "$folder"/* >&2
  exit 1
}

for phase in "$@"; do
  folder=$base/$phase
  mkdir "$folder"
  # shellcheck disable=SC2016
  "$netns_run" --hosts=2 --ranks-per-host=2 --mpirun=--enable-recovery -- sh -c \
    '"$0" "$@"; code=$?; echo $code >"$1/code.new.$OMPI_COMM_WORLD_RANK"
     mv "$1/code.new.$OMPI_COMM_WORLD_RANK" "$1/code.$OMPI_COMM_WORLD_RANK"' \
    "$program" "$folder" "$fault" "$phase" 1 >"$folder/log" 2>&1 &
  job=$!
  for rank in 2 3; do
    tenths=0
    until [ -e "$folder/code.$rank" ]; do
      [ $((tenths += 1)) -le 600 ] || fail "rank $rank hangs"
      sleep 0.1
    done
    [ "$(cat "$folder/code.$rank")" = 75 ] || fail "rank $rank left with $(cat "$folder/code.$rank")"
    grep -qx "lost 0 1" "$folder/rank.$rank" || fail "rank $rank does not know who is lost"
  done
  # mpirun's daemons may wait for the lost host for long.
  kill -KILL "$job"
  wait "$job" || true
  job=
  echo "$fault, $phase: passed"
done
