# shellcheck shell=bash
# For tests of MPI programs on several hosts (netns_run.sh), to be sourced by bash in a test's own
# folder: the environment of MPI programs, a folder and one job that both end with the test.

. tools/testing/mpi_environment.sh
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

# A test calls it first, with netns_run and the options that matter: ends it where the machine
# cannot make such hosts.
require_hosts() {
  local code=0 reason
  reason=$("$@" --check 2>&1) || code=$?
  [ $code -eq 77 ] || return 0
  echo "SKIPPED: $reason"
  exit 0
}

base=$(mktemp -d /tmp/dtnn-host.XXXXXX)
job=

# mpirun's daemons may wait for a lost host for long.
end_job() {
  [ -z "$job" ] || kill -KILL "$job" 2>/dev/null || true
  [ -z "$job" ] || wait "$job" || true
  job=
}
trap 'end_job; rm -rf "$base"' EXIT

# FOLDER TENTHS RANK: waits so long for the rank's exit code in FOLDER/code.RANK, which must be 75;
# else calls `fail`, the test's own.
await_peer_lost() {
  local tenths=0
  until [ -e "$1/code.$3" ]; do
    [ $((tenths += 1)) -le "$2" ] || fail "rank $3 hangs"
    sleep 0.1
  done
  [ "$(cat "$1/code.$3")" = 75 ] || fail "rank $3 left with $(cat "$1/code.$3")"
}
