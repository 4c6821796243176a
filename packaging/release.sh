#!/usr/bin/env bash
# bazel run //:release -- [--check=yes|no] FOLDER
# Makes a release: the Debian packages, the wheel for Python, the sources as a .tar.gz, SHA256SUMS;
# and checks them in a fresh Debian 12 (check_in_debian.sh).
#
# Exit codes: 0 done, 1 something is wrong, 2 wrong usage, 77 made, but the check is not possible here.
set -euo pipefail

version=$1
shift
check=yes
usage() {
  echo "usage: bazel run //:release -- [--check=yes|no] FOLDER${1:+ ($1)}" >&2
  exit 2
}
named=
for argument in "$@"; do
  case $argument in
    --check=yes | --check=no) check=${argument#--check=} ;;
    -*) usage "$argument is not an option" ;;
    *)
      [ -z "$named" ] || usage "one folder, not also $argument"
      named=$argument
      ;;
  esac
done
[ -n "$named" ] || usage
here=${RUNFILES_DIR:-$0.runfiles}/dtnn
sources=${BUILD_WORKSPACE_DIRECTORY:?"run it by bazel run //:release"}
cd "${BUILD_WORKING_DIRECTORY:-.}"
fail() {
  echo "release: $1" >&2
  exit 1
}

folder=$(realpath -m -- "$named")
[[ $folder/ != "$(realpath "$sources")"/* ]] || fail "$folder lies within the sources: name a folder elsewhere"
[ ! -e "$folder" ] || [ -z "$(ls -A "$folder")" ] ||
  fail "$folder is not empty: a release goes into a folder of its own"
changed=$(git -C "$sources" status --porcelain | head -n 1)
[ -z "$changed" ] || fail "the sources are not those of a commit (git status: $changed): commit or stash first"
grep -q "^## $version\b" "$sources/CHANGES.md" ||
  fail "CHANGES.md has no section \"## $version\", which tools/version.bzl names"
mkdir -p "$folder" || fail "$folder cannot be made"

cp "$here"/packaging/*.deb "$here"/apps/python/wheel/*.whl "$folder"
git -C "$sources" archive --format=tar.gz --prefix="dtnn-$version/" -o "$folder/dtnn-$version.tar.gz" HEAD
(cd "$folder" && sha256sum -- * >SHA256SUMS && ls -l)
[ $check = no ] || exec "$here/packaging/check_in_debian.sh" "$folder"
