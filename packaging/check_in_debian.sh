#!/usr/bin/env bash
# Installs a release's packages in a Debian 12 that has nothing else, uses them as docs/installing.md
# says, and removes them.
# usage: check_in_debian.sh FOLDER, which holds what release.sh makes. As root: it makes a chroot.
#
# Exit codes: 0 all is well, 1 something is wrong with the release, 2 wrong usage, 77 no such Debian
# can be made here (the reason is said).
set -euo pipefail

if [ $# -ne 1 ] || [ ! -d "$1" ]; then
  echo "usage: check_in_debian.sh FOLDER" >&2
  exit 2
fi
release=$(cd "$1" && pwd)
skip() {
  echo "SKIPPED: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "only root can make a chroot"
command -v debootstrap >/dev/null || skip "debootstrap is not installed; ./setup.sh --dev installs it"
unshare --mount true 2>/dev/null || skip "this machine lets nobody mount"

root=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf --one-file-system "$root" "$log"' EXIT
# Packages come from where this machine's own come from, in the way that they do.
mirror=http://deb.debian.org/debian
if grep -q '^ID=debian' /etc/os-release; then
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n 1p)
fi
debootstrap --variant=minbase bookworm "$root" "${mirror%/}" >"$log" 2>&1 ||
  skip "debootstrap failed: $(tail -n 1 "$log")"
apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90host"
# It lives for minutes: nothing in it has to survive a power failure.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe"
cp /etc/resolv.conf /etc/hosts "$root/etc/"

inside() {
  # The mounts end with the process.
  unshare --mount bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
    mount -t tmpfs tmpfs "$0/dev/shm" && exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 \
      PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c "$1"' \
    "$root" "$1"
}
install="apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3"
inside "apt-get update -qq &&
  $install bash-completion cmake dataset-fashion-mnist g++ lintian make pkg-config zsh" \
  >"$log" 2>&1 || skip "the tools of the check cannot be installed: $(tail -n 1 "$log")"

failed=false
# try WHAT COMMANDS: what they say is shown if they fail.
try() {
  local begin=$SECONDS
  if inside "cd /root && $2" >"$log" 2>&1; then
    echo "ok: $1 ($((SECONDS - begin)) s)"
  else
    sed 's/^/  /' "$log"
    echo "FAILED: $1"
    failed=true
  fi
}
cp "$release"/* "$root/root/"
mkdir "$root/root/source"
tar -xzf "$release"/*.tar.gz -C "$root/root/source" --strip-components=1
image=/root/source/data/images/testdata/fuzz/image/jpeg_grey
model=/root/source/models/run/testdata/model.safetensors

try "checksums" "sha256sum --quiet -c SHA256SUMS"
try "the sources" "
  cd source && test -s BUILD.bazel -a -s WORKSPACE -a -s LICENSE -a -s apps/BUILD.bazel &&
  ./setup.sh --help && ! ./setup.sh --check >../said && grep -q '^setup.sh: missing: bazel' ../said"
try "lintian" "lintian --fail-on error,warning --allow-root *.deb"
try "apt install" "dpkg --get-selections >before; $install ./*.deb"
try "dtnn benchmark, and predict with what it saved" "
  dtnn benchmark --model=simplecnn --dataset=mnist --dataset-path=/usr/share/datasets/fashion-mnist \
    --num-epochs=1 --save-model=mine.safetensors &&
  dtnn predict $image --model-file=mine.safetensors"
# Of two ranks, 20 steps of 64 samples each, and how long each waited for the other.
cat >"$root/root/two_ranks.sh" <<'END'
"$@" --model=simplecnn --dataset=mnist --dataset-path=/usr/share/datasets/fashion-mnist \
  --parallel=data --num-epochs=1 --steps-per-epoch=20 >said || { cat said; exit 1; }
for words in "on each of 2 ranks" ": 2560 to train on in 20 steps" "% on rank 0, the" "% on rank 1, the"; do
  grep -qF "$words" said || { cat said; echo "not said: $words"; exit 1; }
done
END
try "two ranks" "bash two_ranks.sh dtnn launch -n 2 -- benchmark"
try "two ranks of mpirun" "
  bash two_ranks.sh mpirun --allow-run-as-root --oversubscribe -np 2 dtnn benchmark"
try "manual pages" "
  for program in /usr/lib/dtnn/bin/*; do
    zgrep -q '^.TH' /usr/share/man/man1/dtnn-\${program##*/}.1.gz || { echo \$program; exit 1; }
  done"
try "completion in bash" "
  source /usr/share/bash-completion/bash_completion && { _completion_loader dtnn || true; } &&
  test \"\$(complete -p dtnn)\" = 'complete -F _dtnn dtnn' &&
  COMP_WORDS=(dtnn predict --model-f) COMP_CWORD=2 && { _dtnn || true; } &&
  test \"\${COMPREPLY[*]}\" = --model-file="
try "completion in zsh" "
  test \"\$(zsh -fc 'autoload -U compinit; compinit -D -u; print \$_comps[dtnn]')\" = _dtnn"
try "links of pages" "python3 source/packaging/check_links.py /usr/share/doc/dtnn"
# Their copies in the packages, as docs/installing.md says.
try "examples/cmake" "
  cp -r /usr/share/doc/libdtnn-dev/examples . &&
  cmake -S examples/cmake -B build && cmake --build build --parallel 2 &&
  build/train trained.safetensors && build/answer trained.safetensors $image &&
  build/answer $model $image >cmake"
try "examples/pkg-config" "
  make -C examples/pkg-config && examples/pkg-config/answer $model $image | diff cmake -"
try "examples/c" "
  make -C examples/c && examples/c/answer $model $image | sed 1d | diff cmake -"
try "examples/predict" "
  cmake -S examples/predict -B predict && cmake --build predict &&
  predict/answer $model $image | diff cmake -"
try "examples/library" "
  cmake -S examples/library -B library && cmake --build library --parallel 2 &&
  library/own_parts && library/train /usr/share/datasets/fashion-mnist 20"
try "examples of python3-dtnn" "
  $install python3-matplotlib && mkdir -p curves &&
  python3 /usr/share/doc/python3-dtnn/examples/fashion_mnist.py \
    /usr/share/datasets/fashion-mnist 1 curves && head -c 4 curves/curves.png | grep -q PNG"
cat >"$root/root/ranks.py" <<'END'
import dtnn
import numpy as np


def train(rank, ranks):
    x, y = np.arange(64, dtype=np.float32).reshape(64, 1) / 64, np.arange(64) // 32
    net = dtnn.Network().flatten().fc(2).softmax()
    run = dtnn.Run(net, dtnn.Arrays(x, y), parallel="data", batch_size=4, validation_split=0)
    run.fit()
    print(f"rank {rank} of {ranks}: {run.steps_done} steps")


dtnn.run_as_rank(train)
END
try "two ranks of Python" "
  for launcher in 'dtnn launch -n 2 --' 'mpirun --allow-run-as-root --oversubscribe -np 2'; do
    \$launcher python3 ranks.py | grep -o 'rank . of 2: 8 steps' | sort | tr '\\n' ' ' >said
    test \"\$(cat said)\" = 'rank 0 of 2: 8 steps rank 1 of 2: 8 steps ' || { cat said; exit 1; }
  done"
try "ONNX in Python" "
  python3 -c 'import dtnn; dtnn.export_onnx(\"$model\", \"out.onnx\"); dtnn.import_onnx(\"out.onnx\", \"back.npz\")
assert dtnn.load(\"back.npz\").num_parameters == dtnn.load(\"$model\").num_parameters'"
try "apt remove" "
  dpkg -L dtnn libdtnn0 libdtnn-dev python3-dtnn | sort -u >files &&
  apt-get remove -qq -y dtnn libdtnn0 libdtnn-dev python3-dtnn &&
  while read -r file; do [ -d \$file ] || [ ! -e \$file ] || { echo left: \$file; exit 1; }; done <files &&
  ! find /usr -ipath '*dtnn*' | grep ."
# The libraries that it needs are still there.
try "the wheel" "
  $install python3-venv && python3 -m venv --system-site-packages env &&
  env/bin/pip install --no-index --no-deps *.whl && env/bin/python3 -c '
import dtnn
assert dtnn.__file__.startswith(\"/root/env/\"), dtnn.__file__
name, probability = dtnn.load(\"$model\").classify(\"$image\")[0]
print(f\"$image: {name} {100 * probability:.2f} %\")' | diff cmake -"
! $failed
