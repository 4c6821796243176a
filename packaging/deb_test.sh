#!/usr/bin/env bash
# What is in the Debian packages, and that it works when it is unpacked.
# usage: deb_test.sh DTNN DEVELOPMENT LIBRARY VERSION
set -euo pipefail

if ! command -v dpkg-deb >/dev/null; then
  echo "SKIPPED: dpkg-deb is not installed: this is not a Debian system"
  exit 0
fi
root=$TEST_TMPDIR/root
failed=false
check() {
  "${@:2}" && return
  echo "FAILED: $1" >&2
  failed=true
}
for package in "$1" "$2" "$3"; do
  dpkg-deb --field "$package"
  check "version" test "$(dpkg-deb --field "$package" Version)" = "$4"
  for file in $(dpkg-deb --fsys-tarfile "$package" | tar -t | grep -v '/$'); do
    check "$file is in one package" test ! -e "$root/$file"
  done
  dpkg-deb --extract "$package" "$root"
done

check "programs need MPI" grep -q "libopenmpi3 .*openmpi-bin" <<<"$(dpkg-deb --field "$1" Depends)"
check "the library does not" grep -vq openmpi <<<"$(dpkg-deb --field "$3" Depends)"
check "the library needs protobuf" grep -q libprotobuf <<<"$(dpkg-deb --field "$3" Depends)"
check "headers need Abseil's" grep -q libabsl-dev <<<"$(dpkg-deb --field "$2" Depends)"
check "/usr/bin has one program" test "$(ls "$root/usr/bin")" = dtnn
check "programs start" test "$("$root/usr/lib/dtnn/bin/predict" --version)" = "predict (DTNN) $4"
check "all files are packaged" test -e "$root/usr/lib/cmake/dtnn/dtnn-train.cmake"

sed "s#^bin=#bin=$root#" "$root/usr/bin/dtnn" >"$TEST_TMPDIR/dtnn"
check "dtnn starts them" test "$(sh "$TEST_TMPDIR/dtnn" inspect --version)" = "inspect (DTNN) $4"
said=$(sh "$TEST_TMPDIR/dtnn" colour 2>&1) && check "an unknown program fails" false
check "and is told which there are" grep -q "usage: dtnn PROGRAM.* benchmark .* predict " <<<"$said"

cp -r examples/c "$TEST_TMPDIR/c"
PKG_CONFIG_PATH=$root/usr/lib/pkgconfig make -C "$TEST_TMPDIR/c"
check "a C program is linked with it" grep -q "usage: answer" \
  <<<"$("$TEST_TMPDIR/c/answer" 2>&1 || true)"
! $failed
