#!/usr/bin/env bash
# Installs the packages that DTNN needs, on Debian and Ubuntu. Safe to run again; `./setup.sh --help`
# says more.
set -euo pipefail

# package | what it is for
REQUIRED='
bazel-bootstrap       | builds everything (Bazel)
g++                   | the C++20 compiler
git                   | sources, and the list of files that CI checks
pkg-config            | finds the libraries below
libabsl-dev           | Abseil: statuses, strings
libblis-openmp-dev    | BLIS: matrix products
libhwy-dev            | Highway: SIMD on every x86-64
librandom123-dev      | Philox random numbers
libarchive-dev        | data sets in .tar, .tar.gz and .zip
libzip-dev            | .npz files
libjpeg-dev           | JPEG images
libpng-dev            | PNG images
nlohmann-json3-dev    | JSON: .safetensors files
libyaml-cpp-dev       | YAML: files of options
libprotobuf-dev       | Protocol Buffers: checkpoints
libopenmpi-dev        | Open MPI: several processes, also on several machines
openmpi-bin           | its mpirun
libssl-dev            | checksums of data sets, encryption
protobuf-compiler     | compiler of Protocol Buffers
libgrpc++-dev         | gRPC: ranks through a server (--transport=grpc)
protobuf-compiler-grpc | its code generator
libmicrohttpd-dev     | HTTP: the server of models
libmosquitto-dev      | MQTT: ranks through a broker (--transport=mqtt)
zlib1g-dev            | .gz data sets
python3-dev           | Python: import dtnn
pybind11-dev          | C++ for Python
python3-numpy         | arrays of Python
dpkg-dev              | packages of DTNN for Debian (//:deb)
libgtest-dev          | GoogleTest
libgmock-dev          | GoogleTest matchers
libbenchmark-dev      | Google Benchmark
dataset-fashion-mnist | the images of the main job (60000 + 10000, 30 MB)
'
# CLANG_RUNTIME stands for the package of clang's run-time libraries, whose name holds a version.
DEVELOPMENT='
clang-format          | the formatting check
cmake                 | tests of an installation (else skipped)
make                  | tests of an installation (else skipped)
debootstrap           | the check of a release in a fresh Debian (else skipped)
iproute2              | tests on several hosts made of network namespaces (else skipped)
python3-matplotlib    | the test that curves are drawn (else skipped)
mosquitto             | a broker, for tests of MQTT (else skipped)
zsh                   | tests of its completion (else skipped)
groff-base            | tests of the manual page (else skipped)
chromium              | tests of pages in a browser (else skipped; 124 MB to load)
clang                 | fuzzing (--config=fuzz)
CLANG_RUNTIME         | fuzzing: libFuzzer and the sanitizers of clang
'

usage() {
  cat <<'END'
usage: ./setup.sh [--check] [--dev]

Installs the packages that building, testing and running DTNN needs, on Debian 12 and later and
Ubuntu 22.04 and later. What is installed already is left alone; when nothing is missing, nothing is
run. What cannot be found or installed is listed at the end, with what to do instead. A bazel and,
where CC names one, a compiler that are here already are taken as they are.

  --check   only report; exit 1 when something is missing
  --dev     also the tools of a contributor, and the programs without which tests are skipped:
            clang-format, clang with libFuzzer, cmake, iproute2, chromium, ...
  --help    this text

Exit codes: 0 done, 1 something is missing or could not be installed, 2 wrong usage.
END
}

fail() {
  echo "setup.sh: $1" >&2
  exit "${2:-1}"
}

names() { sed -n 's/^\([^ |]*\) *|.*/\1/p' <<<"$1"; }
purpose() { sed -n "s/^$1 *| *//p" <<<"$REQUIRED$DEVELOPMENT"; }

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Whether the package lists of this system hold a version of the package.
# (Not `| grep -q`, which leaves before apt-cache has written all: then that fails, now and then.)
is_known() {
  local policy
  policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null) && grep -q 'Candidate: [^(]' <<<"$policy"
}

# Whether there already is what the package would bring, from elsewhere.
is_replaced() {
  case $1 in
    bazel-bootstrap) command -v bazel >/dev/null ;;
    g++) [ -n "${CC:-}" ] && command -v "${CC%% *}" >/dev/null ;;
    *) false ;;
  esac
}

# The package with the run-time libraries of the clang that this system installs: one of their own,
# or, in older releases, the one with clang's headers.
clang_runtime() {
  local version name
  version=$(apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p')
  if [ -z "$version" ]; then
    echo libclang-rt-dev
    return
  fi
  for name in "libclang-rt-$version-dev" "libclang-common-$version-dev"; do
    is_known "$name" && break
  done
  echo "$name"
}

# What to do about a package that this system does not have.
advice() {
  case $1 in
    bazel-bootstrap)
      echo "install Bazel 4.2 to 6 (https://bazel.build/install), so that 'bazel' is found"
      ;;
    dataset-fashion-mnist)
      echo "not needed to build; name other data with --dataset-path (docs/data-sets.md)"
      ;;
    clang | libclang-rt-* | libclang-common-* | CLANG_RUNTIME) echo "only --config=fuzz needs it" ;;
    clang-format) echo "only the formatting check needs it" ;;
    cmake | make) echo "without it, tests of an installation are skipped" ;;
    iproute2) echo "without it, tests on several hosts are skipped" ;;
    python3-matplotlib) echo "without it, the test of an example draws no curves" ;;
    mosquitto) echo "without it, tests of MQTT are skipped" ;;
    zsh) echo "without it, tests of its completion are skipped" ;;
    groff-base) echo "without it, tests of the manual page are skipped" ;;
    chromium) echo "without it, tests of pages in a browser are skipped" ;;
    *) echo "build it from its sources and install it" ;;
  esac
}

require_apt() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null &&
    command -v apt-cache >/dev/null && return
  echo "setup.sh: this system has no apt-get: only Debian, Ubuntu and their relatives are set up by" \
    "script." >&2
  echo "Please install the equivalents of these Debian packages yourself:" >&2
  sed '/^$/d; s/^/  /; s/CLANG_RUNTIME/(by version) /' <<<"$1" >&2
  echo "(any Bazel from 4.2 to 6 that reads a WORKSPACE file will do)" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "installing needs root, and there is no sudo; as root, run: $*"
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@" \
    </dev/null
}

# All at once; where that fails, one by one, so that one that cannot be had stops none of the others.
install_packages() {
  local package
  echo "setup.sh: running apt-get install --no-install-recommends $*"
  apt_install "$@" && return
  echo "setup.sh: that failed; trying each package alone"
  for package in "$@"; do
    apt_install "$package" || true
  done
}

missing() {
  local package
  for package in $(names "$1"); do
    if [ "$package" = CLANG_RUNTIME ]; then package=$(clang_runtime); fi
    is_installed "$package" || is_replaced "$package" || echo "$package"
  done
}

# Lists packages that could not be had: what each is for, why it is missing, what to do without.
report() {
  local package what why
  for package in "$@"; do
    what=$(purpose "$package")
    why="could not be installed (see above)"
    is_known "$package" || why="this system's package lists do not have it"
    echo "  $package (${what:-$(purpose CLANG_RUNTIME)}): $why; $(advice "$package")" >&2
  done
}

install_missing() {
  local package known=()
  echo "setup.sh: running apt-get update"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y update >/dev/null ||
    echo "setup.sh: apt-get update failed (see above); going by the package lists of before" >&2
  # Anew, since a name depends on the lists.
  for package in $(missing "$wanted"); do
    if is_known "$package"; then known+=("$package"); fi
  done
  if [ ${#known[@]} -gt 0 ]; then install_packages "${known[@]}"; fi
}

check_only=false
wanted=$REQUIRED
for argument in "$@"; do
  case $argument in
    --check) check_only=true ;;
    --dev) wanted=$REQUIRED$DEVELOPMENT ;;
    -h | --help) usage && exit 0 ;;
    *) fail "unknown argument \"$argument\"; ./setup.sh --help lists what it takes" 2 ;;
  esac
done

require_apt "$wanted"
mapfile -t absent < <(missing "$wanted")
before=${#absent[@]}
if [ "$before" -eq 0 ]; then
  echo "setup.sh: all $(names "$wanted" | wc -l) packages are installed"
  exit 0
fi
if $check_only; then
  echo "setup.sh: missing: ${absent[*]}"
  echo "install them with: ./setup.sh, or: sudo apt-get install --no-install-recommends ${absent[*]}"
  exit 1
fi
install_missing
mapfile -t absent < <(missing "$wanted")
if [ ${#absent[@]} -gt 0 ]; then
  echo "setup.sh: installed $((before - ${#absent[@]})) of $before packages; still missing:" >&2
  report "${absent[@]}"
  exit 1
fi
echo "setup.sh: installed $before packages; everything is there"
