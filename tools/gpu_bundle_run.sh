#!/usr/bin/env bash
# Runs what tools/gpu_bundle.sh packed, and writes what came out as JSON.
#
# usage: run.sh [--quick | --speed | --profile] [--no-peers] [--only=WORD] [--results=FOLDER]
#
# FOLDER (default: results, beside this file) gets summary.json, and of each program NAME.log and,
# of tests, NAME.json in GoogleTest's format, which has the reasons of skipped ones. Without a GPU
# all tests that need one are skipped with the reason, and the others run on simulated ones.
#
# These three need a GPU, and Python:
#   --quick    the tests on the real GPU alone, twelve programs at a time, a minute for each at most;
#              ends with a table and the first words of every failure. A program of whose tests none
#              used the GPU has failed.
#   --speed    eight settings of //bench:models, then the same with PyTorch: speed.jsonl, peers.jsonl,
#              and a table of both, speed.md. Programs that fail are named, and the others go on.
#              --no-peers: without PyTorch.
#   --profile  the kernels of training steps, bf16, of resnet50_imagenet first: profile.txt
# WORD chooses programs, and settings, whose names hold it. Exit code 0 only if nothing failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
only=
what=all
peers=1
results=$here/results
for argument in "$@"; do
  case $argument in
    --quick | --speed | --profile) what=${argument#--} ;;
    --no-peers) peers=0 ;;
    --only=*) only=${argument#*=} ;;
    --results=*) results=${argument#*=} ;;
    *)
      echo "usage: run.sh [--quick | --speed | --profile] [--no-peers] [--only=WORD]" \
        "[--results=FOLDER]" >&2
      exit 2
      ;;
  esac
done
mkdir -p "$results" || exit 1
results=$(cd "$results" && pwd)

built() { sed -n "s/^$1 //p" "$here/built.txt"; }
glibc=$(ldd --version | sed -n '1s/.* //p')
if [ "$(printf '%s\n' "$(built glibc)" "$glibc" | sort -V | head -1)" != "$(built glibc)" ]; then
  echo "run.sh: this machine has glibc $glibc; the bundle needs $(built glibc) or newer" >&2
  exit 1
fi

# CUDA's libraries: of CUDA_HOME, or of the packages nvidia-* of Python's environment.
libraries=()
if [ -n "${CUDA_HOME:-}" ]; then
  libraries+=("$CUDA_HOME/lib64")
fi
while read -r folder; do
  libraries+=("$folder")
done < <(python3 -c '
import glob, sysconfig
for folder in sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib")): print(folder)
' 2>/dev/null)
[ -d /usr/local/cuda/lib64 ] && libraries+=(/usr/local/cuda/lib64)
path=$here/lib
for folder in "${libraries[@]}"; do path+=:$folder; done
export LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
missing=$(for program in "$here"/bin/*; do ldd "$program"; done | sed -n 's/^\s*\(.*\) => not found/\1/p' | sort -u)
if [ -n "$missing" ]; then
  echo "run.sh: not found: ${missing//$'\n'/, }" >&2
  echo "set CUDA_HOME to a toolkit $(built cuda) with cuDNN and NCCL, or activate a Python" \
    "environment with nvidia-cuda-runtime, nvidia-cublas, nvidia-cudnn and nvidia-nccl" >&2
  exit 1
fi

quote() { printf '"%s"' "$(tr -d '\000-\037' <<<"$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"; }
gpus=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | paste -sd';')

cd "$results" || exit 1
if [ "$what" != all ] && [ -z "$gpus" ]; then
  echo "run.sh: --$what needs a GPU, and nvidia-smi names none here" >&2
  exit 1
fi
chosen() { [[ -z $only || $1 == *"$only"* ]]; }

quick() {
  local names=() name
  while read -r name; do chosen "$name" && names+=("$name"); done <"$here/gpu_tests.txt"
  if [ ${#names[@]} -eq 0 ]; then
    echo "run.sh: no test program has $only in its name" >&2
    return 1
  fi
  export here DTNN_TEST_DEVICE=cuda
  # Backwards: the networks' tests, which take longest, before the kernels'.
  printf '%s\n' "${names[@]}" | tac | xargs -P 12 -I{} bash -c '
    rm -f "{}".{json,log,status}
    started=$(date +%s.%N)
    timeout 60 "$here/bin/{}" "--gtest_output=json:{}.json" "--gtest_filter=-*Simulated*" >"{}.log" 2>&1 </dev/null
    awk -v code=$? -v a="$started" -v b="$(date +%s.%N)" "BEGIN { printf \"%d %.2f\n\", code, b - a }" >"{}.status"'
  python3 "$here/gpu_bundle_table.py" "$results" "${names[@]}"
}

# MODEL:BATCH:MATH_MODE:PHASES
settings=(
  resnet50_imagenet:128:bf16:train,infer
  resnet50_imagenet:256:bf16:train
  resnet50_imagenet:128:tf32:train
  resnet20_cifar10:128:bf16:train,infer
  resnet20_cifar10:1024:bf16:train,infer
  vgg16_cifar10:128:bf16:train,infer
  vgg16_cifar10:1024:bf16:train,infer
  resnet20_cifar10:128:fp32:train
)
speed() {
  local setting model batch mode phases format code bad=0 mine=()
  rm -f speed.jsonl peers.jsonl
  touch speed.jsonl peers.jsonl
  for setting in "${settings[@]}"; do
    chosen "$setting" || continue
    mine+=("$setting")
    IFS=: read -r model batch mode phases <<<"$setting"
    format=NHWC
    [ "$mode" = fp32 ] && format=NCHW
    timeout 60 "$here/bin/bench.models" --device=cuda "--models=$model" "--batch=$batch" \
      "--math-mode=$mode" "--format=$format" "--phases=$phases" --seconds=0.8 --json=speed.jsonl \
      >"speed.$setting.log" 2>&1
    code=$?
    ((code == 0)) && continue
    bad=$((bad + 1))
    echo "FAILED $setting: exit code $code: $(tail -2 "speed.$setting.log" | paste -sd/ | tail -c 600)"
  done
  if ((peers)); then
    timeout 130 python3 "$here/torch_gpu.py" --seconds=0.5 --limit=20 "${mine[@]}" \
      >>peers.jsonl 2>peers.log || echo "PyTorch ended with exit code $?: $(tail -1 peers.log)"
    if chosen resnet50_imagenet:128:bf16; then
      timeout 120 python3 "$here/torch_gpu.py" --seconds=1 --limit=100 --variants=compile \
        resnet50_imagenet:128:bf16:train >>peers.jsonl 2>>peers.log ||
        echo "torch.compile ended with exit code $?: $(tail -1 peers.log)"
    fi
  fi
  python3 "$here/compare_gpu.py" speed.jsonl peers.jsonl | tee speed.md
  return $((bad > 0))
}

profile() {
  local setting model batch bad=0
  rm -f profile.jsonl profile.txt
  for setting in resnet50_imagenet:128 resnet20_cifar10:128 resnet20_cifar10:1024 vgg16_cifar10:1024; do
    chosen "$setting" || continue
    IFS=: read -r model batch <<<"$setting"
    timeout 60 "$here/bin/bench.models" --device=cuda "--models=$model" "--batch=$batch" --math-mode=bf16 \
      --format=NHWC --profile-kernels --json=profile.jsonl 2>&1 | tee -a profile.txt
    bad=$((bad + (PIPESTATUS[0] != 0)))
  done
  return $((bad > 0))
}

if [ "$what" != all ]; then
  "$what"
  exit
fi

failed=0
entries=()
# program NAME COMMAND...: one run; its entry of the summary.
program() {
  local name=$1 code started seconds tests=0 skipped=0 failures=0
  shift
  chosen "$name" || return 0
  started=$(date +%s.%N)
  timeout 1800 "$@" >"$results/$name.log" 2>&1 </dev/null
  code=$?
  seconds=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')
  if [ -e "$results/$name.json" ]; then
    tests=$(grep -c '"result": ' "$results/$name.json")
    skipped=$(grep -c '"result": "SKIPPED"' "$results/$name.json")
    failures=$(grep -c '"failures": \[' "$results/$name.json")
    if ((code == 0 && tests == 0)); then
      echo "run.sh: no test ran" >>"$results/$name.log"
      code=1
    elif ((code == 0)) && [ -n "$gpus" ] && grep -qxF "${name#sanitizer.}" "$here/gpu_tests.txt" &&
      ! grep -q '"gpu": "cuda' "$results/$name.json"; then
      echo "run.sh: no test used the GPU" >>"$results/$name.log"
      code=1
    fi
  fi
  ((code == 0)) || failed=$((failed + 1))
  entries+=("$(printf '{"name": %s, "exit_code": %d, "seconds": %s, "tests": %d, "skipped": %d, "failed": %d}' \
    "$(quote "$name")" "$code" "$seconds" "$tests" "$skipped" "$failures")")
  printf '%-60s exit %d, %s s, %d tests, %d skipped\n' "$name" "$code" "$seconds" "$tests" "$skipped"
}

while read -r name; do
  rm -f "$results/$name.json"
  program "$name" "$here/bin/$name" "--gtest_output=json:$results/$name.json"
done <"$here/tests.txt"

# Whole trainings: every one for some steps, call by call and captured; on a GPU the zoo's networks at
# sizes that keep it busy, else a small one on a simulated GPU.
train() {
  local name=$1
  shift
  program "train.$name" "$here/bin/apps.benchmark" --dataset=synthetic --enable-gpu --quiet \
    --num-epochs=2 "$@"
}
if [ -n "$gpus" ]; then
  for graphs in True False; do
    for batch in 128 1024; do
      for model in resnet20_cifar10 vgg16_cifar10; do
        train "$model.$batch.graphs_$graphs" "--model=$model" "--batch-size=$batch" \
          --synthetic-input-shape=3,32,32 --synthetic-train-samples=$((batch * 50)) \
          "--enable-cuda-graphs=$graphs"
      done
    done
    train "resnet50_imagenet.128.graphs_$graphs" --model=resnet50_imagenet --batch-size=128 \
      --synthetic-input-shape=3,224,224 --synthetic-output-shape=1000 \
      --synthetic-train-samples=2560 "--enable-cuda-graphs=$graphs"
  done
  if sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null); then
    for name in models.plan.plan_gpu_test models.training.step_engine_gpu_test; do
      rm -f "$results/sanitizer.$name.json"
      DTNN_TEST_DEVICE=cuda program "sanitizer.$name" "$sanitizer" --error-exitcode=9 \
        "$here/bin/$name" '--gtest_filter=-*Simulated*' "--gtest_output=json:$results/sanitizer.$name.json"
    done
  fi
else
  train simplecnn.simulated --model=simplecnn --gpu-device=simulated --batch-size=16 \
    --synthetic-input-shape=1,28,28 --synthetic-train-samples=48
fi

{
  printf '{\n  "revision": %s,\n  "gpus": %s,\n  "failed": %d,\n  "programs": [\n' \
    "$(quote "$(built revision)")" "$(quote "${gpus:-none}")" "$failed"
  for ((i = 0; i < ${#entries[@]}; ++i)); do
    printf '    %s%s\n' "${entries[i]}" "$([ $((i + 1)) -lt ${#entries[@]} ] && echo ,)"
  done
  printf '  ]\n}\n'
} >"$results/summary.json"
echo "$results/summary.json: ${#entries[@]} programs, $failed failed; GPUs: ${gpus:-none}"
((failed == 0))
