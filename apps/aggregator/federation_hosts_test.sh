#!/usr/bin/env bash
# An aggregator and two clients on three hosts, with certificates, as docs/federation.md says; by TCP
# and by gRPC. A host without a certificate of the authority gets nowhere.
# federation_hosts_test.sh NETNS_RUN AGGREGATOR BENCHMARK MAKE_CERTIFICATES
set -euo pipefail

netns_run=$1
export aggregator=$PWD/$2 benchmark=$PWD/$3
make_certificates=$PWD/$4
. comm/testing/host_tests.sh
require_hosts "$netns_run"

fail() {
  echo "$1; the output:"
  cat "$base"/output*
  exit 1
}
says() {
  grep -qF -- "$2" "$base/$1" || fail "expected \"$2\""
}

"$make_certificates" --folder="$base/certificates" 10.77.0.1 10.77.0.2 10.77.0.3 >"$base/output"
"$make_certificates" --folder="$base/others" 10.77.0.1 10.77.0.2 10.77.0.3 >"$base/output"
(umask 077 && openssl rand -hex 32 >"$base/secret")

cat >"$base/client" <<'END'
# FOLDER HOST PART: on that host.
cd "$(dirname "$0")"
[ "$PROTO" = tcp ] || export PYMPI_PROTO=$PROTO PYMPI_SSL=yes
export DTNN_JOB_SECRET_FILE=secret PYMPI_SSL_CA=$1/authority.pem
export PYMPI_SSL_CERT=$1/10.77.0.$2.pem PYMPI_SSL_KEY=$1/10.77.0.$2.key OMP_NUM_THREADS=1
exec "$benchmark" --parallel=federated --server=10.77.0.1:61643 --encryption=openfhe \
  --client-name="host$2" --model=simplecnn8 --dataset=synthetic --synthetic-pattern=classes \
  --synthetic-input-shape=1,28,28 --synthetic-output-shape=10 --synthetic-train-samples=160 \
  --synthetic-test-samples=20 --batch-size=16 --dataset-part="$3/2" --num-epochs=1 \
  --comm-timeout="${TIMEOUT:-60}"
END
cat >"$base/all" <<'END'
# On the first host. DTNN_SSH says how to reach the others.
cd "$(dirname "$0")"
[ "$PROTO" = tcp ] || export PYMPI_PROTO=$PROTO PYMPI_SSL=yes
export DTNN_JOB_SECRET_FILE=secret PYMPI_SSL_CA=certificates/authority.pem OMP_NUM_THREADS=1
export PYMPI_SSL_CERT=certificates/10.77.0.1.pem PYMPI_SSL_KEY=certificates/10.77.0.1.key
"$aggregator" --address=10.77.0.1:61643 --model=simplecnn8 --dataset=mnist --rounds=2 \
  --min-clients=2 --encryption=openfhe --comm-timeout=60 >output1 2>&1 &
if [ "$PROTO" = tcp ]; then
  "$DTNN_SSH" 10.77.0.2 "env benchmark='$benchmark' PROTO=tcp TIMEOUT=2 bash '$PWD/client' others 2 1" \
    >output4 2>&1 && exit 3
fi
"$DTNN_SSH" 10.77.0.2 "env benchmark='$benchmark' PROTO=$PROTO bash '$PWD/client' certificates 2 1" \
  >output2 2>&1 &
"$DTNN_SSH" 10.77.0.3 "env benchmark='$benchmark' PROTO=$PROTO bash '$PWD/client' certificates 3 2" \
  >output3 2>&1 &
code=0
for job in $(jobs -p); do wait "$job" || code=$?; done
exit $code
END

for PROTO in tcp grpc; do
  export PROTO
  rm -f "$base"/output*
  timeout --kill-after=10 150 "$netns_run" --hosts=3 --alone -- bash "$base/all" \
    >"$base/output" 2>&1 || fail "$PROTO ended with $?"
  says output1 "**** Round 2: 2 of 2 clients"
  for host in 2 3; do
    says output$host "**** The federation has ended after 2 rounds"
    if grep -q "warning: environment" "$base/output$host"; then fail "host $host is warned"; fi
  done
done
