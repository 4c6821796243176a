#!/usr/bin/env bash
# The suite that every transport passes, on hosts joined by TCP links of 1 ms:
# mpi_netns_test.sh HOSTS RANKS-PER-HOST NETNS_RUN PROGRAM
set -euo pipefail

hosts=$1 ranks_per_host=$2 netns_run=$3 program=$4
options=(--hosts="$hosts" --ranks-per-host="$ranks_per_host" --delay=1ms)

. comm/testing/host_tests.sh
require_hosts "$netns_run" "${options[@]}"
for setting in DTNN_MPI_HOSTS="$hosts" DTNN_MPI_RANKS=$((hosts * ranks_per_host)) OMP_NUM_THREADS=1; do
  options+=(--mpirun=-x --mpirun="$setting")
done
code=0
timeout --kill-after=10 $((${TEST_TIMEOUT:-300} - 15)) \
  "$netns_run" "${options[@]}" --mpirun=--tag-output -- "$PWD/$program" || code=$?
[ $code -ne 124 ] || echo "mpi_netns_test.sh: not finished in time" >&2
exit $code
