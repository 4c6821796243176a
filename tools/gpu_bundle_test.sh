#!/usr/bin/env bash
# run.sh of a GPU bundle, in a bundle of programs made up here, with and without a made-up GPU.
set -uo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
tools=$TEST_SRCDIR/$TEST_WORKSPACE/tools
root=$TEST_TMPDIR/dtnn-gpu
mkdir -p "$root/bin" "$TEST_TMPDIR/fake"
install -m 755 "$tools/gpu_bundle_run.sh" "$root/run.sh"
install -m 755 "$tools/gpu_bundle_table.py" "$tools/../bench/compare_gpu.py" "$root"
printf 'revision 1\nglibc 2.0\ncuda 13.0\n' >"$root/built.txt"

# test NAME CODE JSON: a program that ends with CODE and leaves results of one test.
test_program() {
  printf '#!/bin/sh\necho "it said this"\nfor i; do case $i in --gtest_output=json:*) cat >"${i#*json:}" <<X\n%s\nX\nesac; done\nexit %s\n' \
    "{\"testsuites\": [{\"testsuite\": [{\"name\": \"Runs\", \"classname\": \"$1\"$3}]}]}" "$2" >"$root/bin/$1"
  chmod +x "$root/bin/$1"
  echo "$1" >>"$root/gpu_tests.txt"
}
test_program good 0 ', "result": "COMPLETED", "gpu": "cuda:0"'
test_program wrong 1 ', "result": "COMPLETED", "gpu": "cuda:0", "failures": [{"failure": "a.cc:7 expected 3"}]'
test_program skips 0 ', "result": "SKIPPED"'
test_program simulates 0 ', "result": "COMPLETED"'
printf '#!/bin/sh\necho "no such number" >&2\nexit 5\n' >"$root/bin/dies"
chmod +x "$root/bin/dies"
echo dies >>"$root/gpu_tests.txt"

# Of bench:models: one network is too large for it.
cat >"$root/bin/bench.models" <<'X'
#!/bin/sh
for i; do case $i in --models=*) model=${i#*=} ;; --batch=*) batch=${i#*=} ;; --json=*) json=${i#*=} ;; esac; done
[ $model = vgg16_cifar10 ] && { echo "models: no memory left" >&2; exit 1; }
echo "{\"model\": \"$model\", \"batch\": $batch, \"math_mode\": \"bf16\", \"format\": \"NHWC\", \"card\": \"Card\"," \
  '"driver": "1.2", "cuda": "13.0", "cudnn": "9", "cublaslt": "13", "graphs": true, "train": 100.0, "infer": 300.0}' >>$json
X
chmod +x "$root/bin/bench.models"

failures=0
# expect CODE WORDS OPTION...
expect() {
  local code=$1 words=$2 output
  shift 2
  output=$("$root/run.sh" "--results=$TEST_TMPDIR/results" "$@" 2>&1)
  local got=$?
  if [ $got -ne "$code" ] || [[ $output != *"$words"* ]]; then
    printf 'run.sh %s: exit code %d, expected %d and "%s":\n%s\n' "$*" $got "$code" "$words" "$output"
    failures=$((failures + 1))
  fi
}
export PATH=$TEST_TMPDIR/fake:$PATH
printf '#!/bin/sh\nexit 9\n' >"$TEST_TMPDIR/fake/nvidia-smi"
chmod +x "$TEST_TMPDIR/fake/nvidia-smi"
for what in quick speed profile; do expect 1 "--$what needs a GPU" "--$what"; done
printf '#!/bin/sh\necho "Card, 1.2"\n' >"$TEST_TMPDIR/fake/nvidia-smi"
expect 0 "1 programs, 0 failed; 1 tests on a real GPU" --quick --only=good
expect 1 "FAILED wrong: wrong.Runs: a.cc:7 expected 3" --quick
expect 1 "FAILED skips: no test used a real GPU: it said this" --quick
expect 1 "FAILED simulates: no test used a real GPU" --quick
expect 1 "FAILED dies: left no results: no such number" --quick
expect 1 "5 programs, 4 failed" --quick
expect 1 "no test program has nothing" --quick --only=nothing
expect 0 "| resnet20_cifar10 1024 bf16 NHWC | infer | 300 |" --speed --no-peers --only=resnet
expect 1 "FAILED vgg16_cifar10:128:bf16:train,infer: exit code 1: models: no memory left" --speed --no-peers
expect 1 "models: no memory left" --profile
expect 0 "" --profile --only=resnet50
expect 2 "usage:" --fast
exit $failures
