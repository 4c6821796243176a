#!/usr/bin/env bash
# What is in a release, and when none is made.
# usage: release_test.sh RELEASE VERSION
set -euo pipefail

release=$PWD/$1 version=$2
if ! command -v dpkg-deb >/dev/null; then
  echo "SKIPPED: dpkg-deb is not installed: this is not a Debian system"
  exit 0
fi
failed=false
check() {
  "${@:2}" && return
  echo "FAILED: $1" >&2
  failed=true
}
export BUILD_WORKSPACE_DIRECTORY=$TEST_TMPDIR/sources BUILD_WORKING_DIRECTORY=$TEST_TMPDIR HOME=$TEST_TMPDIR
git init -q "$BUILD_WORKSPACE_DIRECTORY"
commit() {
  git -C "$BUILD_WORKSPACE_DIRECTORY" add -A
  git -C "$BUILD_WORKSPACE_DIRECTORY" -c user.name=a -c user.email=a@example.org commit -qm "$1"
}
mkdir "$BUILD_WORKSPACE_DIRECTORY/apps"
echo code >"$BUILD_WORKSPACE_DIRECTORY/apps/a.cc"
printf '# Changes\n\n## 0.0.1\n' >"$BUILD_WORKSPACE_DIRECTORY/CHANGES.md"
commit first

# refuses WHAT CODE WORDS ARGUMENT...
refuses() {
  local said code=0
  said=$("$release" "$version" "${@:4}" 2>&1) || code=$?
  check "$1: exit code $code" test $code = "$2"
  check "$1: said $said" grep -qFe "$3" <<<"$said"
}
refuses "no folder" 2 "usage: bazel run //:release"
refuses "an unknown option" 2 "--colour is not an option" --colour out
refuses "two folders" 2 "one folder, not also two" one two
refuses "a folder of the sources" 1 "lies within the sources" --check=no sources/out
refuses "a version without changes" 1 "no section \"## $version\"" --check=no out
printf '# Changes\n\n## %s\n' "$version" >"$BUILD_WORKSPACE_DIRECTORY/CHANGES.md"
refuses "changed sources" 1 "git status:  M CHANGES.md" --check=no out
commit second
mkdir -p "$TEST_TMPDIR/full"
touch "$TEST_TMPDIR/full/mine"
refuses "a folder that is not empty" 1 "$TEST_TMPDIR/full is not empty" --check=no full
check "which stays" test "$(ls "$TEST_TMPDIR/full")" = mine
check "none is made" test ! -e "$TEST_TMPDIR/out"

"$release" "$version" out --check=no
cd "$TEST_TMPDIR/out"
check "what is in it" test "$(ls | tr '\n' ' ')" = \
  "$(printf '%s ' SHA256SUMS dtnn-*-linux_*.whl dtnn-"$version".tar.gz dtnn.deb libdtnn-dev.deb libdtnn0.deb python3-dtnn.deb)"
check "its sums" sha256sum --quiet -c SHA256SUMS
check "the sources" diff <(tar -tzf "dtnn-$version.tar.gz") \
  <(printf "dtnn-$version/%s\n" "" CHANGES.md apps/ apps/a.cc)
! $failed
