#!/usr/bin/env bash
# Compares what scale_model predicts with what it measures, on hosts that are network namespaces of
# this machine: one rank of one thread on each, links of limited bandwidth.
set -euo pipefail

usage() {
  cat <<'END_OF_USAGE'
usage: scale_model_check.sh [--ranks=LIST] [--rate=RATE] [--delay=TIME] [--] [SCALE_MODEL FLAG...]

  --ranks=LIST   numbers of ranks, by comma (1,2,3,4)
  --rate=RATE    of what a host sends, as tc writes it (200mbit)
  --delay=TIME   from host to host, one way: 1ms (none)

Prints a line per number of ranks: the step's time predicted and measured, and the error. Exit code
77 where the machine cannot make such hosts (the reason is printed).
END_OF_USAGE
}

ranks=1,2,3,4
rate=200mbit
delay=0us
while [ $# -gt 0 ]; do
  case $1 in
    --ranks=*) ranks=${1#*=} ;;
    --rate=*) rate=${1#*=} ;;
    --delay=*) delay=${1#*=} ;;
    -h | --help) usage && exit 0 ;;
    --) shift && break ;;
    *) break ;;
  esac
  shift
done

root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$root/comm/testing/netns_run.sh" ] || root=$PWD  # where `bazel run` begins
run=$root/comm/testing/netns_run.sh
$run --delay="$delay" --check || exit

export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
header=
for count in ${ranks//,/ }; do
  # mpirun's agent passes no variables on by itself.
  output=$($run --hosts="$count" --rate="$rate" --delay="$delay" \
    --mpirun=-x --mpirun=OMP_NUM_THREADS=1 "$root/apps/scale_model/scale_model" --max-ranks=1 "$@") || {
    echo "$output"
    echo "scale_model_check.sh: the run on $count ranks failed" >&2
    exit 1
  }
  if [ -z "$header" ]; then
    head -n 1 <<<"$output"
    header=$(grep "^  ranks  *predicted" <<<"$output")
    echo "$header"
  fi
  grep -A 1 '^  ranks  *predicted' <<<"$output" | tail -n 1
done
