#!/usr/bin/env bash
# Runs a test program as several ranks under mpirun:
#   mpi_test.sh RANKS PROGRAM [MPIRUN-OPTION...] [-- ARGUMENT...]
#
# On this host only, without binding ranks to cores, of which there may be fewer. A rank that fails,
# or takes longer than Bazel grants, fails the test; lines are labelled with their rank.
set -euo pipefail

ranks=$1 program=$2
shift 2
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  options+=("$1")
  shift
done
[ $# -eq 0 ] || shift
command -v mpirun >/dev/null || { echo "no mpirun: install openmpi-bin" >&2; exit 1; }

# Open MPI puts unix sockets there, whose paths must be short.
TMPDIR=$(mktemp -d /tmp/dtnn-mpi.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

. tools/testing/mpi_environment.sh
export DTNN_MPI_RANKS=$ranks
# Shared memory only, and no look for ssh or for a batch system.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_ras=^slurm,gridengine

limit=$((${TEST_TIMEOUT:-300} - 15))
status=0
timeout --kill-after=10 "$limit" \
  mpirun -np "$ranks" --oversubscribe --bind-to none --tag-output "${options[@]}" "$program" "$@" || status=$?
[ "$status" -ne 124 ] || echo "mpi_test.sh: not finished after $limit s" >&2
exit "$status"
