#!/usr/bin/env bash
# What an installation writes, replaces, refuses and removes. usage: install_test.sh INSTALL
set -euo pipefail

install=$PWD/$1
prefix=$TEST_TMPDIR/prefix
failed=false

# expect WHAT COMMAND...: the command succeeds.
expect() {
  "${@:2}" && return
  echo "FAILED: $1" >&2
  failed=true
}
# expect_error WHAT TEXT COMMAND...: the command fails, with the text in its message.
expect_error() {
  local said
  if said=$("${@:3}" 2>&1) || [[ $said != *"$2"* ]]; then
    echo "FAILED: $1: $said" >&2
    failed=true
  fi
}
files() { (cd "$1" && find . ! -type d | sort); }

mkdir -p "$prefix/share/man"
"$install" --prefix="$prefix" >"$TEST_TMPDIR/said"
expect "it says how many files" grep -q "^install: [0-9]* files, in $prefix$" "$TEST_TMPDIR/said"
for path in bin/benchmark bin/launch bin/predict include/dtnn.h include/dtnn/models/run/run.h \
  include/dtnn/models/serving/predictor.h lib/libdtnn-train.a lib/libdtnn.a lib/libdtnn.so \
  lib/libdtnn.so.0 lib/cmake/dtnn/dtnn-config.cmake lib/pkgconfig/dtnn-train.pc \
  lib/pkgconfig/dtnn.pc share/bash-completion/completions/predict share/doc/dtnn/LICENSE \
  share/doc/dtnn/examples/c/answer.c share/doc/dtnn/examples/library/CMakeLists.txt \
  share/doc/dtnn/examples/deploy/kubernetes/ranks.yaml share/doc/dtnn/examples/predict/answer.cc \
  share/zsh/site-functions/_predict; do
  expect "$path is there" test -s "$prefix/$path"
done
for notice in "$prefix"/share/doc/dtnn/licenses/*; do
  expect "the notice $notice" diff "$notice" "/usr/share/doc/$(basename "$notice")/copyright"
done
expect "the notices" test "$(ls "$prefix/share/doc/dtnn/licenses" | tr '\n' ' ')" = "$(
  cd /usr/share/doc && ls -d libabsl-dev libgrpc++-dev libhwy-dev libprotobuf-dev librandom123-dev \
    libyaml-cpp-dev nlohmann-json3-dev pybind11-dev 2>/dev/null | tr '\n' ' ')"
expect "no header of tests" test ! -e "$prefix/include/dtnn/tools"
version=$("$prefix/bin/predict" --version)
expect "programs say their version" test "${version%% [0-9]*}" = "predict (DTNN)"
expect "packages have the same version" grep -qx "Version: ${version##* }" "$prefix/lib/pkgconfig/dtnn.pc"
expect "the library has it" test -e "$prefix/lib/libdtnn.so.${version##* }"
for program in "$prefix"/bin/*; do
  name=$(basename "$program")
  expect "$name --version" test "$("$program" --version)" = "$name (DTNN) ${version##* }"
  expect "$name has a manual page" grep -qxF ".SH NAME" "$prefix/share/man/man1/$name.1"
done
expect "all is listed" diff <(files "$prefix" | grep -v installed-files) \
  <(sed '/\/$/d; s#^#./#' "$prefix/share/dtnn/installed-files" | sort)
expect "links lead to what is installed" python3 packaging/check_links.py "$prefix"
expect "a page that lists folders of the sources names them" \
  grep -q '^| `kernels` | ' "$prefix/share/doc/dtnn/README.md"
expect "and says where the text does not" \
  grep -q '^transform (`data`)\.' "$prefix/share/doc/dtnn/README.md"
expect "commands are those of programs in bin" \
  grep -qx 'predict --model-file=mine.safetensors cat.jpg' "$prefix/share/doc/dtnn/docs/onnx.md"
expect "links to installed pages stay" \
  grep -qF '](../bench/PERFORMANCE.md#' "$prefix/share/doc/dtnn/docs/precision.md"
files "$prefix" >"$TEST_TMPDIR/all"

# The test of links sees dead ones.
mkdir "$TEST_TMPDIR/pages"
printf '# One\n[a](#one) [b](no.md) [c](#two) `[d](none)`\n' >"$TEST_TMPDIR/pages/page.md"
said=$(python3 packaging/check_links.py "$TEST_TMPDIR/pages" || true)
expect "dead links are told from others: $said" diff - <(sed 's#^.*/##' <<<"$said") <<'END'
page.md: no.md: no such file
page.md: #two: no such heading
1 pages, 3 links, 2 of them dead
END

# Again, over a file that was changed.
echo changed >"$prefix/include/dtnn.h"
"$install" --prefix="$prefix" >/dev/null
expect "a second run writes the same files" diff "$TEST_TMPDIR/all" <(files "$prefix")
expect "a second run writes all of them" grep -q dtnn_load "$prefix/include/dtnn.h"

# A part: what belongs to the others goes, what belongs to the user stays.
echo mine >"$prefix/include/mine.h"
"$install" --prefix="$prefix" --components=predict >/dev/null
expect "the archive of training is removed" test ! -e "$prefix/lib/libdtnn-train.a"
expect "with empty folders" test ! -e "$prefix/bin"
expect "the user's file stays" grep -q mine "$prefix/include/mine.h"
expect "predict is there" test -e "$prefix/lib/libdtnn.a"

# Files of others.
mkdir "$prefix/bin"
echo other >"$prefix/bin/launch"
expect_error "a file of another program" "$prefix/bin/launch: exists, and is not of DTNN" \
  "$install" --prefix="$prefix"
expect "it is kept" grep -q other "$prefix/bin/launch"
expect "nothing is written" test ! -e "$prefix/bin/benchmark"

"$install" --prefix="$prefix" --uninstall >/dev/null
expect "only files of others are left" diff <(printf './bin/launch\n./include/mine.h\n') \
  <(files "$prefix")
expect "a folder that was there stays" test -d "$prefix/share/man"
expect "folders of its own do not" test ! -e "$prefix/share/man/man1" -a ! -e "$prefix/share/dtnn"
expect_error "twice" "is not there, so nothing is installed" "$install" --prefix="$prefix" --uninstall

# Below another root; from the directory of the caller.
DESTDIR=$TEST_TMPDIR/root "$install" --prefix=/usr --components=predict >/dev/null
expect "DESTDIR" test -s "$TEST_TMPDIR/root/usr/lib/libdtnn.a"
expect "the links do not name it" test "$(readlink "$TEST_TMPDIR/root/usr/lib/libdtnn.so")" = libdtnn.so.0
BUILD_WORKING_DIRECTORY=$TEST_TMPDIR DESTDIR=there "$install" --prefix=/usr --components=predict \
  >/dev/null
expect "a relative DESTDIR" test -s "$TEST_TMPDIR/there/usr/lib/libdtnn.a"
expect_error "a ~ that was not expanded" "the shell did not expand ~" "$install" --prefix='~/dtnn'
BUILD_WORKING_DIRECTORY=$TEST_TMPDIR "$install" --prefix=here --components=predict >/dev/null
expect "a relative prefix" test -s "$TEST_TMPDIR/here/lib/libdtnn.a"

expect_error "no prefix" "--prefix=DIR is missing" "$install"
expect_error "an unknown component" 'there is no "all"' "$install" --prefix="$prefix" --components=all
expect_error "an unknown option" 'argument "--colour": is not an option' "$install" --colour

! $failed
