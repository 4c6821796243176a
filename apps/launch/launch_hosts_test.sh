#!/usr/bin/env bash
# Ranks on two hosts, which the launcher reaches as by ssh: they train with TLS, refuse a certificate
# that is for another host, and talk in plain only when told to, with a warning.
# launch_hosts_test.sh NETNS_RUN LAUNCH MAKE_CERTIFICATES BENCHMARK
set -euo pipefail

netns_run=$1 launch=$PWD/$2 make_certificates=$PWD/$3 benchmark=$PWD/$4
. comm/testing/host_tests.sh
require_hosts "$netns_run"

fail() {
  echo "$1; the output:"
  cat "$base/output"
  exit 1
}
# EXIT_CODE OPTION...: trains on two ranks of each host.
train() {
  local expected=$1 code=0
  shift
  # The shell knows DTNN_SSH only within.
  # shellcheck disable=SC2016
  timeout --kill-after=10 100 "$netns_run" --hosts=2 --alone -- \
    sh -c 'exec "$0" --ssh="$DTNN_SSH" "$@"' "$launch" -n 4 --hosts=10.77.0.1,10.77.0.2 --grace=2 \
    "$@" -- "$benchmark" --parallel=data --model=simplecnn_v1 --dataset=synthetic \
    --synthetic-pattern=classes --synthetic-input-shape=1,8,8 --synthetic-output-shape=3 \
    --synthetic-train-samples=101 --synthetic-test-samples=23 --batch-size=4 --num-epochs=1 \
    --comm-timeout=60 --use-blocking-mpi=False >"$base/output" 2>&1 || code=$?
  [ $code -eq "$expected" ] || fail "ended with $code, expected $expected"
}
# TEXT: must be in the output.
says() {
  grep -qF -- "$1" "$base/output" || fail "expected \"$1\""
}

certificates=$base/certificates
"$make_certificates" --folder="$certificates" 10.77.0.1 10.77.0.2
train 0 --certificates="$certificates"
says "[0] **** Done..."
if grep -q warning "$base/output"; then fail "expected no warning"; fi

train 0 --plain
says "[0] **** Done..."
says "anyone who reaches the network between the hosts can read and change what ranks exchange"

train 2
says "--certificates: missing"

# The second host has the first one's certificate.
for kind in pem key; do cp "$certificates/10.77.0.1.$kind" "$certificates/10.77.0.2.$kind"; done
train 2 --certificates="$certificates"
says "refuses this host's certificate: it is not for the address from which this host calls"
