#!/usr/bin/env bash
# Kills or freezes a rank in every phase, under real mpirun:
# mpi_fault_test.sh RANKS FAULT PROGRAM TRANSPORT MIB PHASE...
#
# TRANSPORT is Open MPI's: vader (shared memory) or tcp, which may lock up inside MPI when a rank
# dies.
# All other ranks must leave by themselves within twice the timeout (5 s in the program) with exit
# code 75, agree on who is lost, and name that rank. A frozen rank that goes on later must leave
# too. mpirun does not help: --enable-recovery keeps it from ending the others.
set -euo pipefail
export LC_ALL=C

ranks=$1 fault=$2 program=$3 transport=$4 mib=$5
shift 5
phases=("$@")
victim=1
TMPDIR=$(mktemp -d /tmp/dtnn-mpi.XXXXXX)
export TMPDIR
. tools/testing/mpi_environment.sh
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,$transport OMPI_MCA_plm=isolated
export OMPI_MCA_btl_tcp_if_include=lo
mpirun_pid=

end_all() {
  for file in "$TMPDIR"/*/pid.[0-9]; do
    [ ! -f "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null || true
  done
  [ -z "$mpirun_pid" ] || kill -TERM "$mpirun_pid" 2>/dev/null || true
  rm -rf "$TMPDIR"
}
trap end_all EXIT

fail() {
  echo "FAILED ($ranks ranks, $fault, $phase): $1" >&2
  tail -n +1 "$folder"/* >&2
  exit 1
}

pid_of() { cat "$folder/pid.$1"; }

# Waits until a rank is gone: twice the timeout, and what a busy machine takes.
await_end() {
  local pid tenths=0
  pid=$(pid_of "$1")
  while kill -0 "$pid" 2>/dev/null; do
    # A process that ended counts as gone before its parent has collected it.
    [ "$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null)" != Z ] || return 0
    [ $((tenths += 1)) -le 200 ] || fail "rank $1 hangs"
    sleep 0.1
  done
}

check_survivor() {
  local rank=$1 code
  code=$(cat "$folder/code.$rank")
  # All work was done: how MPI_Finalize fares without the lost rank is Open MPI's affair.
  if [ "$phase" = end ]; then
    [ "$code" = 0 ] || [ "$code" = 75 ] || fail "rank $rank left with $code, not with 0 or 75"
    return 0
  fi
  [ "$code" = 75 ] || fail "rank $rank left with $code, not with 75"
  if [ "$phase" != start ]; then
    grep -qx "lost $victim" "$folder/rank.$rank" || fail "rank $rank does not know who is lost"
  fi
  grep -q "rank $victim, which does not answer (dead or frozen)" "$folder/rank.$rank" ||
    fail "rank $rank: the message does not name rank $victim"
}

round=0
for phase in "${phases[@]}"; do
  folder=$TMPDIR/$((round += 1))
  mkdir "$folder"
  # shellcheck disable=SC2016
  timeout --kill-after=5 90 mpirun --enable-recovery -np "$ranks" --oversubscribe --bind-to none \
    sh -c '"$0" "$@"; code=$?; echo $code >"$1/code.$OMPI_COMM_WORLD_RANK"; exit $code' \
    "$program" "$folder" "$fault" "$phase" "$mib" >"$folder/log" 2>&1 &
  mpirun_pid=$!
  for _ in $(seq 600); do
    [ "$(find "$folder" -name 'pid.?' | wc -l)" -lt "$ranks" ] || break
    sleep 0.1
  done
  [ "$(find "$folder" -name 'pid.?' | wc -l)" -eq "$ranks" ] || fail "not all ranks started"
  for rank in $(seq 0 $((ranks - 1))); do
    [ "$rank" -eq $victim ] || await_end "$rank"
  done
  if [ "$fault" = freeze ]; then
    kill -CONT "$(pid_of $victim)" || fail "the frozen rank is gone"
  fi
  await_end $victim
  wait "$mpirun_pid" || true
  mpirun_pid=
  for rank in $(seq 0 $((ranks - 1))); do
    [ "$rank" -eq $victim ] || check_survivor "$rank"
  done
  if [ "$fault-$phase" = freeze-end ]; then
    grep -q "MPI_Finalize did not return" "$folder/log" || fail "nobody says that it hung"
  fi
  echo "$ranks ranks over $transport, $fault, $phase: passed"
done
