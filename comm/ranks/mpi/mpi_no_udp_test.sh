#!/usr/bin/env bash
# Two hosts between which MPI's TCP passes, but no UDP: every rank refuses, and one can read why.
# mpi_no_udp_test.sh NETNS_RUN PROGRAM
set -euo pipefail

netns_run=$1 program=$2
. comm/testing/host_tests.sh
require_hosts "$netns_run"
code=0
output=$(timeout --kill-after=10 60 "$netns_run" --hosts=2 --no-udp --mpirun=-x \
  --mpirun=DTNN_MPI_RANKS=2 -- "$PWD/$program" 2>&1) || code=$?
expected="rank 0 on host1 cannot reach rank 1 on host2 by UDP, although MPI can"
if [ $code -eq 0 ] || [ $code -eq 124 ] || [[ $output != *"$expected"* ]]; then
  echo "left with $code; expected an error that holds \"$expected\":"
  echo "$output"
  exit 1
fi
