#!/usr/bin/env bash
# The host of rank 0 dies, with two ranks, of two hosts joined by TCP:
# mpi_host_fault_test.sh FAULT NETNS_RUN PROGRAM PHASE...
#
# Both ranks of the other host must leave by themselves with exit code 75, and agree that ranks 0
# and 1 are lost, whom no look at their own host's processes could tell. FAULT: see fault_program.
set -euo pipefail

fault=$1 netns_run=$2 program=$PWD/$3
shift 3
. comm/testing/host_tests.sh
require_hosts "$netns_run"

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
    await_peer_lost "$folder" 600 $rank
    grep -qx "lost 0 1" "$folder/rank.$rank" || fail "rank $rank does not know who is lost"
  done
  end_job
  echo "$fault, $phase: passed"
done
