#!/usr/bin/env bash
# The host of rank 0 dies while the launcher trains on two hosts of two ranks, joined by TCP:
# benchmark_host_fault_test.sh NETNS_RUN BENCHMARK
#
# The ranks of the other host must find out that both are lost, save the run, and leave with 75;
# what they saved is gone on from.
set -euo pipefail

netns_run=$1 benchmark=$PWD/$2
. comm/testing/host_tests.sh
require_hosts "$netns_run"
folder=$base

fail() {
  echo "FAILED: $1" >&2
  tail -n +1 "$folder"/log "$folder"/words.* >&2
  exit 1
}

flags=(--parallel=data --model=simplemlp --dataset=synthetic --batch-size=1
  --synthetic-train-samples=32 --validation-split=0 --schedulers=
  --checkpoint-dir="$folder/run" --checkpoint-steps=20)

# Once there is something to lose, the host loses its link and its processes.
cat >"$folder/rank" <<'END_OF_RANK'
#!/bin/sh
folder=$1 benchmark=$2
shift 2
# What a rank says goes through mpirun, which is on the host that dies.
"$benchmark" "$@" 2>"$folder/words.$OMPI_COMM_WORLD_RANK" &
program=$!
if [ "$OMPI_COMM_WORLD_RANK" -lt 2 ]; then
  until ls "$folder"/run/checkpoint-*.npz >/dev/null 2>&1; do sleep 0.05; done
  ip link set eth0 down
  kill -KILL $program
fi
code=0
wait $program || code=$?
echo $code >"$folder/new.$OMPI_COMM_WORLD_RANK"
mv "$folder/new.$OMPI_COMM_WORLD_RANK" "$folder/code.$OMPI_COMM_WORLD_RANK"
END_OF_RANK
chmod +x "$folder/rank"

"$netns_run" --hosts=2 --ranks-per-host=2 --mpirun=--enable-recovery -- "$folder/rank" "$folder" \
  "$benchmark" "${flags[@]}" --comm-timeout=6 --num-epochs=1000000 >"$folder/log" 2>&1 &
job=$!
for rank in 2 3; do await_peer_lost "$folder" 900 $rank; done
end_job
grep -q "benchmark: rank 2: .*ranks 0, 1, which do not answer.*--resume continues from " \
  "$folder/words.2" || fail "no word about who is lost and what was saved"
newest=$(sed -n 's/.*--resume continues from \(.*\.npz\).*/\1/p' "$folder/words.2")
[ -s "$newest" ] || fail "there is no $newest"

# In one process, so without --parallel=data.
"$benchmark" "${flags[@]:1}" --num-epochs=1 --resume >"$folder/log" 2>&1 ||
  fail "it does not go on"
grep -q "Resuming from $newest" "$folder/log" || fail "it does not resume from $newest"
echo "PASSED"
