#!/usr/bin/env bash
# Runs a program on several "hosts", with MPI or without: network namespaces of this machine, each with an address
# and a host name of its own, joined by links whose bandwidth and latency are set.
# `netns_run.sh --help` says more.
#
# All of it lives in namespaces of processes, mounts and the network that die with this script,
# however it ends: nothing is left behind, names cannot collide, and the machine's own network is
# not touched. The bandwidth is a token bucket of the kernel (tc tbf). Latency needs a queue that
# not every kernel has (netem), so delayed links are carried by delay_relay.
set -euo pipefail

readonly UNAVAILABLE=77

usage() {
  cat <<'END_OF_USAGE'
usage: netns_run.sh [OPTION...] [--] PROGRAM [ARGUMENT...]

  --hosts=N            hosts (2)
  --ranks-per-host=N   of each; ranks are numbered host by host (1)
  --rate=RATE          of what a host sends, as tc writes it: 1gbit, 100mbit (not limited)
  --delay=TIME         from host to host, one way: 1ms, 50us (none)
  --no-udp             UDP does not leave a host, as with many a firewall
  --mpirun=ARGUMENT    one more argument of mpirun; may be repeated
  --alone              the program runs once, on the first host, without mpirun; it reaches the
                       hosts 10.77.0.1, 10.77.0.2, ... by the command in the variable DTNN_SSH, as
                       by ssh
  --check              only say whether it can work here

Every host has the interface eth0; a rank may cut its link with `ip link set eth0 down`. SIGTERM
and SIGINT go to mpirun, or to the program that runs alone.

Exit codes: 77 where the machine cannot do this (the reason is printed), 2 wrong usage, else
mpirun's, or the program's.
END_OF_USAGE
}

usage_error() {
  echo "netns_run.sh: $1; see --help" >&2
  exit 2
}

unavailable() {
  echo "netns_run.sh: cannot make hosts here: $1" >&2
  exit $UNAVAILABLE
}

# "1500us", "20ms", "1s" in microseconds.
microseconds() {
  [[ $1 =~ ^([0-9]{1,9})(us|ms|s)$ ]] || usage_error "--delay=$1: expected a time such as 1ms"
  case ${BASH_REMATCH[2]} in
    us) echo $((10#${BASH_REMATCH[1]})) ;;
    ms) echo $((10#${BASH_REMATCH[1]} * 1000)) ;;
    s) echo $((10#${BASH_REMATCH[1]} * 1000000)) ;;
  esac
}

hosts=2
ranks_per_host=1
rate=
delay=0
udp=true
alone=false
check_only=false
mpirun_arguments=()
arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    --hosts=*) hosts=${1#*=} ;;
    --ranks-per-host=*) ranks_per_host=${1#*=} ;;
    --rate=*) rate=${1#*=} ;;
    --delay=*) delay=$(microseconds "${1#*=}") ;;
    --mpirun=*) mpirun_arguments+=("${1#*=}") ;;
    --no-udp) udp=false ;;
    --alone) alone=true ;;
    --check) check_only=true ;;
    -h | --help) usage && exit 0 ;;
    --) shift && break ;;
    -*) usage_error "unknown option \"$1\"" ;;
    *) break ;;
  esac
  shift
done
[[ $hosts =~ ^[1-9][0-9]{0,2}$ && $hosts -le 250 ]] || usage_error "--hosts=$hosts: expected 1 to 250"
[[ $ranks_per_host =~ ^[1-9][0-9]{0,3}$ ]] ||
  usage_error "--ranks-per-host=$ranks_per_host: expected a number from 1"
$check_only || [ $# -gt 0 ] || usage_error "no program given"

# The outer half: enters the namespaces and passes signals on, because unshare(1) does not.
if [ -z "${DTNN_NETNS_INSIDE:-}" ]; then
  for tool in ip tc unshare setpriv mpirun; do
    PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || unavailable "$tool is not installed"
  done
  enter=(unshare --net --mount --uts --pid --fork --kill-child --mount-proc)
  [ "$(id -u)" -eq 0 ] || enter+=(--map-root-user)
  # shellcheck disable=SC2016
  probe='mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && ip netns add probe &&
    ip link add name probe type veth peer name eth0 netns probe &&
    tc qdisc add dev probe root tbf rate 1mbit burst 16kb latency 1ms'
  reason=$("${enter[@]}" sh -c "PATH=\$PATH:/usr/sbin:/sbin; $probe" 2>&1) ||
    unavailable "${reason:-no permission}"
  if [ "$delay" -gt 0 ] && ! [ -w /dev/net/tun ]; then
    unavailable "delays need /dev/net/tun, which is missing or not writable"
  fi
  if $check_only; then exit 0; fi

  DTNN_NETNS_INSIDE=1 setpriv --pdeathsig KILL -- "${enter[@]}" "$0" "${arguments[@]}" </dev/null &
  outer=$!
  pass_on() {
    local inner
    inner=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) || true
    # shellcheck disable=SC2086
    kill -TERM ${inner:-$outer} 2>/dev/null || true
  }
  trap pass_on TERM INT HUP
  # A signal ends `wait` but not the one that is waited for.
  while true; do
    code=0
    wait $outer || code=$?
    kill -0 $outer 2>/dev/null || exit $code
  done
fi

# The inner half: process 1 of its own namespace, whose end ends everything in it.
PATH=$PATH:/usr/sbin:/sbin
# Open MPI's sessions and shared memory, whose names repeat because hosts and processes of every run
# have the same ones, and the lists of namespaces: for the ranks of this run only.
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
readonly folder=/run/dtnn
mkdir $folder
ip link set lo up

names=()
host_list=
for ((host = 1; host <= hosts; ++host)); do
  ip netns add "host$host"
  ip -n "host$host" link set lo up
  mkdir "$folder/host$host"
  names+=("host$host")
  host_list+=,10.77.0.$host:$ranks_per_host
done

if [ "$delay" -gt 0 ]; then
  relay=${DTNN_DELAY_RELAY:-$(dirname "$0")/delay_relay}
  [ -x "$relay" ] || usage_error "$relay: is needed for --delay, but is not a program"
  mkfifo $folder/ready
  "$relay" "$delay" "${names[@]}" >$folder/ready &
  read -r ready <$folder/ready || true
  [ "${ready:-}" = ready ] || unavailable "delay_relay did not start"
else
  ip link add name switch type bridge
  ip link set switch up
fi

for ((host = 1; host <= hosts; ++host)); do
  name=host$host
  if [ "$delay" -eq 0 ]; then
    ip link add name "port$host" type veth peer name eth0 netns "$name"
    ip link set "port$host" master switch up
  fi
  # As small as a burst that the bucket lets through at full speed has to be: what is larger is
  # cut into packets first, which costs more than all else here.
  ip -n "$name" link set eth0 gso_max_size 16384 2>/dev/null || true
  ip -n "$name" addr add "10.77.0.$host/24" dev eth0
  ip -n "$name" link set eth0 up
  $udp || ip -n "$name" rule add ipproto udp blackhole
  if [ -n "$rate" ]; then
    tc -n "$name" qdisc replace dev eth0 root tbf rate "$rate" burst 20kb limit 4mb ||
      usage_error "--rate=$rate: tc refuses it"
  fi
done

# enter HOST COMMAND...: on that host, with its name; agent ADDRESS COMMAND...: mpirun's ssh;
# ssh OPTION... ADDRESS COMMAND: everybody else's.
cat >$folder/enter <<END_OF_ENTER
#!/bin/sh
name=\$1
shift
export TMPDIR=$folder/\$name
exec ip netns exec "\$name" unshare --uts sh -c 'hostname "\$0" && exec "\$@"' "\$name" "\$@"
END_OF_ENTER
cat >$folder/agent <<END_OF_AGENT
#!/bin/sh
name=host\${1##*.}
shift
exec $folder/enter "\$name" sh -c "\$*"
END_OF_AGENT
cat >$folder/ssh <<END_OF_SSH
#!/bin/sh
while [ \$# -gt 2 ]; do shift; done
exec $folder/enter "host\${1##*.}" sh -c "\$2"
END_OF_SSH
chmod +x $folder/enter $folder/agent $folder/ssh
export DTNN_SSH=$folder/ssh

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun=(mpirun --host "${host_list#,}" --map-by slot --bind-to none
  --mca plm_rsh_agent $folder/agent --mca plm_rsh_no_tree_spawn 1
  --mca pml ob1 --mca btl self,vader,tcp
  --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0
  # A daemon whose link is cut is missed within seconds instead of minutes.
  --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 5)

if $alone; then mpirun=() && mpirun_arguments=(); fi
$folder/enter host1 "${mpirun[@]}" "${mpirun_arguments[@]}" "$@" &
job=$!
trap 'kill -TERM $job 2>/dev/null || true' TERM INT HUP
while true; do
  code=0
  wait $job || code=$?
  kill -0 $job 2>/dev/null || exit $code
done
