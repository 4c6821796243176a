#!/usr/bin/env bash
# Installs the Debian packages that DTNN needs. Safe to run again; `./setup.sh --help` says more.
set -euo pipefail

# package | what it is for
REQUIRED='
bazel-bootstrap       | builds everything (Bazel 4.2)
g++                   | the C++20 compiler
git                   | sources, and the list of files that CI checks
pkg-config            | finds the libraries below
libabsl-dev           | Abseil: statuses, strings
libblis-openmp-dev    | BLIS: matrix products
libhwy-dev            | Highway: SIMD on every x86-64
librandom123-dev      | Philox random numbers
libarchive-dev        | data sets in .tar, .tar.gz and .zip
libzip-dev            | .npz files
libjpeg62-turbo-dev   | JPEG images
libpng-dev            | PNG images
nlohmann-json3-dev    | JSON: .safetensors files
libprotobuf-dev       | Protocol Buffers: checkpoints
libopenmpi-dev        | Open MPI: several processes, also on several machines
openmpi-bin           | its mpirun
libssl-dev            | checksums of data sets
protobuf-compiler     | their compiler
zlib1g-dev            | .gz data sets
libgtest-dev          | GoogleTest
libgmock-dev          | GoogleTest matchers
libbenchmark-dev      | Google Benchmark
dataset-fashion-mnist | the images of the main job (60000 + 10000, 30 MB)
'
DEVELOPMENT='
clang-format          | the formatting check
iproute2              | tests on several hosts made of network namespaces (else skipped)
clang                 | fuzzing (--config=fuzz)
libclang-rt-14-dev    | fuzzing: libFuzzer and the sanitizers of clang
'

usage() {
  cat <<'END'
usage: ./setup.sh [--check] [--dev]

Installs the Debian packages that building, testing and running DTNN needs. What is installed
already is left alone; when nothing is missing, nothing is run.

  --check   only report; exit 1 when something is missing
  --dev     also the tools of a contributor: clang-format, clang with libFuzzer, iproute2
  --help    this text

Exit codes: 0 done, 1 something is missing or could not be installed, 2 wrong usage.
END
}

fail() {
  echo "setup.sh: $1" >&2
  exit "${2:-1}"
}

names() { sed -n 's/^\([^ |]*\) *|.*/\1/p' <<<"$1"; }

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Not Debian, or not one that has our packages: say what would be needed, and stop.
require_debian() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null && return
  echo "setup.sh: this system has no apt-get: only Debian 12 and its relatives are set up by script." >&2
  echo "Please install the equivalents of these Debian packages yourself:" >&2
  echo "$1" | sed '/^$/d; s/^/  /' >&2
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

install_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
  echo "setup.sh: running apt-get update"
  as_root "${apt[@]}" update >/dev/null || fail "apt-get update failed (see above)"
  echo "setup.sh: running apt-get install --no-install-recommends $*"
  as_root "${apt[@]}" install --no-install-recommends "$@" </dev/null ||
    fail "apt-get install failed (see above)"
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

require_debian "$wanted"
missing=()
for package in $(names "$wanted"); do
  is_installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "setup.sh: all $(names "$wanted" | wc -l) packages are installed"
  exit 0
fi
if $check_only; then
  echo "setup.sh: missing: ${missing[*]}"
  echo "install them with: ./setup.sh, or: sudo apt-get install --no-install-recommends ${missing[*]}"
  exit 1
fi
install_packages "${missing[@]}"
for package in "${missing[@]}"; do
  is_installed "$package" || fail "$package is still not installed after apt-get install"
done
echo "setup.sh: installed ${#missing[@]} packages; everything is there"
