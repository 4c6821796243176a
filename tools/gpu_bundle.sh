#!/usr/bin/env bash
# Packs the tests that use a GPU, the launcher, //bench:models and PyTorch's side of it, for a machine
# that has a GPU but no Bazel and no sources: docs/gpu-code.md.
#
# usage: tools/gpu_bundle.sh [--no-build] [--arch=90] FILE.tar.xz
#
# --arch: for this kind of GPU alone, which builds in a third of the time.
#
# Needs the toolkit here (--config=cuda). On the other machine: glibc as new as here's, an NVIDIA
# driver, and CUDA's libraries, in CUDA_HOME or in a Python environment. There:
#
#   tar xf FILE.tar.xz && dtnn-gpu/run.sh [--quick | --speed | --profile] [--only=WORD] [--results=FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

build=1
config=(--config=cuda)
while [[ ${1:-} == --* ]]; do
  case $1 in
    --no-build) build=0 ;;
    --arch=*) config+=("--define=cuda_arch=${1#*=}") ;;
    *) break ;;
  esac
  shift
done
if [ $# -ne 1 ] || [[ $1 != *.tar.xz ]]; then
  echo "usage: tools/gpu_bundle.sh [--no-build] [--arch=90] FILE.tar.xz" >&2
  exit 2
fi
mkdir -p "$(dirname "$1")"
out=$(realpath "$1")
most_bytes=60000000

# Whoever uses this header runs on every GPU there is; the others are named.
mapfile -t tests < <(bazel query --noshow_progress \
  'kind(cc_test, rdeps(//..., //kernels/testing:gpu_testing, 1)) except attr(tags, fuzz, //...)' |
  sort)
tests+=(//tensor/gpu:drivers_test //tensor/gpu:open_gpus_test)
programs=(//apps:benchmark //bench:models)
if ((build)); then
  bazel build "${config[@]}" --noshow_progress "${BAZEL_JOBS:---jobs=auto}" "${tests[@]}" \
    "${programs[@]}"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/dtnn-gpu
mkdir -p "$root/bin" "$root/lib"
bin=$(bazel info --noshow_progress "${config[@]}" bazel-bin)

# What CUDA's libraries and the system's loader bring is the other machine's own.
provided='^(linux-vdso|ld-linux-x86-64|libc|libm|libpthread|librt|libdl|libresolv|libutil)\.so|^lib(cuda|cudart|cublas|cublasLt|cudnn.*|nccl|nvrtc.*)\.so'
add_libraries() {
  local name path
  while read -r name _ path _; do
    [[ $path == /* ]] || continue
    [[ $name =~ $provided ]] && continue
    [ -e "$root/lib/$name" ] || install -m 644 "$(realpath "$path")" "$root/lib/$name"
  done < <(LD_LIBRARY_PATH=${CUDA_HOME:-/usr/local/cuda}/lib64 ldd "$1")
}

for label in "${tests[@]}" "${programs[@]}"; do
  path=${label#//}
  path=${path/://}
  name=${path//\//.}
  install -m 755 "$bin/$path" "$root/bin/$name"
  add_libraries "$bin/$path"
  [[ $path == *_test ]] || continue
  echo "$name" >>"$root/tests.txt"
  # Those that use a real GPU where there is one; the others know simulated ones only.
  if grep -qE 'DTNN_GPU_OR_SKIP|Device::Cuda\(0\)|DriverKind::kCuda' "$path.cc"; then
    echo "$name" >>"$root/gpu_tests.txt"
  fi
done
find "$root" -type f \( -path '*/bin/*' -o -path '*/lib/*' \) -exec strip --strip-unneeded {} +
install -m 755 tools/gpu_bundle_run.sh "$root/run.sh"
install -m 755 tools/gpu_bundle_table.py bench/compare_gpu.py bench/peers/torch_gpu.py "$root"
{
  echo "revision $(git rev-parse HEAD)$(git diff --quiet HEAD || echo ', changed')"
  echo "glibc $(getconf GNU_LIBC_VERSION | cut -d' ' -f2)"
  echo "cuda $("${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
} >"$root/built.txt"

tar -C "$work" --sort=name --owner=0 --group=0 -c dtnn-gpu | xz -T0 -6 >"$out"
bytes=$(stat -c %s "$out")
echo "$out: $bytes bytes, $(wc -l <"$root/tests.txt") tests"
if ((bytes > most_bytes)); then
  echo "gpu_bundle.sh: $out has more than $most_bytes bytes" >&2
  exit 1
fi
