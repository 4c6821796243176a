#!/usr/bin/env bash
# What netns_run.sh promises, with programs that need no MPI.
set -euo pipefail

cd "$(dirname "$0")"
run=./netns_run.sh

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

expect() { # WHAT EXPECTED GOT
  [ "$2" = "$3" ] || fail "$1: expected \"$2\", got \"$3\""
}

code=0
$run --hosts=none -- true 2>/dev/null || code=$?
expect "exit code of wrong usage" 2 "$code"

if ! reason=$($run --delay=1us --check 2>&1); then
  echo "SKIPPED: $reason"
  exit 0
fi
before=$(ls /run/netns 2>/dev/null || true)

# shellcheck disable=SC2016
ranks=$($run --hosts=2 --ranks-per-host=2 -- \
  sh -c 'echo "$OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $(hostname) $(ls /sys/class/net)"' |
  tr '\n' ' ' | sed 's/ \([0-9]\)/\n\1/g' | sort | sed 's/ *$//')
expect "ranks" "0/4 host1 eth0 lo
1/4 host1 eth0 lo
2/4 host2 eth0 lo
3/4 host2 eth0 lo" "$ranks"

code=0
$run -- sh -c 'exit 7' >/dev/null 2>&1 || code=$?
expect "exit code of the program" 7 "$code"

# mpirun's daemons need two ways and back before a rank starts: no machine is faster than that.
begin=$(date +%s%N)
$run --delay=200ms --rate=100mbit -- true
took=$((($(date +%s%N) - begin) / 1000000))
[ $took -ge 400 ] || fail "with 200 ms from host to host, all was done after $took ms"

# A signal ends all of it, and so does death; the ranks here would stay for minutes.
for signal in TERM KILL; do
  fifo=$(mktemp -u)
  mkfifo "$fifo"
  $run -- sh -c "echo up >$fifo; exec sleep 317" >/dev/null 2>&1 &
  job=$!
  read -r up <"$fifo"
  expect "rank before SIG$signal" up "$up"
  kill -$signal $job
  code=0
  wait $job || code=$?
  [ $code -ne 0 ] || fail "exit code 0 after SIG$signal"
  rm "$fifo"
  for ((i = 0; i < 100000; ++i)); do
    grep -qsxz 317 /proc/[0-9]*/cmdline || break
  done
  ! grep -qsxz 317 /proc/[0-9]*/cmdline || fail "a rank outlived SIG$signal"
done

expect "namespaces left behind" "$before" "$(ls /run/netns 2>/dev/null || true)"
echo "PASSED"
