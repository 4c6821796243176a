#!/usr/bin/env bash
# Debian packages of an installation. usage: deb.sh VERSION SONAME_VERSION FOLDER, which receives
#   dtnn.deb         the programs, as `dtnn PROGRAM`: others have programs with their names
#   libdtnn<N>.deb   the shared library
#   libdtnn-dev.deb  headers, archives, packages for CMake and pkg-config
#   python3-dtnn.deb the package for Python
set -euo pipefail

version=$1 soname=$2 out=$PWD/$3
here=${RUNFILES_DIR:-$0.runfiles}/dtnn/packaging
export RUNFILES_DIR=${here%/dtnn/packaging}
work=$(mktemp -d)
# What its programs say is shown only if one fails: a build says nothing where all is well.
trap 'status=$?; [[ $status == 0 ]] || cat "$work/log" >&3; rm -rf "$work"' EXIT
exec 3>&2 2>"$work/log"
export LC_ALL=C SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
umask 022

# stage PACKAGE: an empty tree with the licence.
stage() {
  tree=$work/$1
  mkdir -p "$tree/DEBIAN" "$tree/usr/share/doc/$1"
  cp "$work/all/usr/share/doc/dtnn/LICENSE" "$tree/usr/share/doc/$1/copyright"
  gzip -9n <"$work/all/usr/share/doc/dtnn/CHANGES.md" >"$tree/usr/share/doc/$1/NEWS.gz"
}
# take PATH...: moves them from the installation into the tree.
take() {
  local path
  for path in "$@"; do
    mkdir -p "$tree/usr/$(dirname "$path")"
    mv "$work/all/usr/$path" "$tree/usr/$path"
  done
}
# libraries FILE...: the packages of the shared libraries that they need.
libraries() {
  local file arguments=()
  for file in "$@"; do
    strip --strip-unneeded "$file"
    arguments+=(-e "$file")
  done
  mkdir -p "$work/debian"
  printf 'Source: dtnn\n\nPackage: dtnn\nArchitecture: any\n' >"$work/debian/control"
  (cd "$work" && dpkg-shlibdeps -O --warnings=0 "${arguments[@]}") | sed -n 's/^shlibs:Depends=//p'
}
# build PACKAGE SECTION DEPENDS DESCRIPTION: the package of the tree.
build() {
  (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  cat >"$tree/DEBIAN/control" <<END
Package: $1
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The DTNN authors <dtnn@localhost>
Section: $2
Priority: optional
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: $3
Description: $4
 DTNN trains convolutional networks, on one process or many, and predicts with them.
END
  dpkg-deb -Zzstd --root-owner-group --build "$tree" "$out/$1.deb" >&2
}

DESTDIR=$work/all "$here/install.sh" --prefix=/usr >&2

stage "libdtnn$soname"
take "lib/libdtnn.so.$soname" "lib/libdtnn.so.$version"
printf 'libdtnn %s libdtnn%s\n' "$soname" "$soname" >"$tree/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' >"$tree/DEBIAN/triggers"
depends=$(libraries "$tree/usr/lib/libdtnn.so.$version")
build "libdtnn$soname" libs "$depends" "predictions with neural networks: the C library"

stage libdtnn-dev
take include/dtnn.h include/dtnn lib/libdtnn.a lib/libdtnn-train.a lib/libdtnn.so lib/cmake/dtnn \
  lib/pkgconfig
strip --strip-debug "$tree"/usr/lib/*.a
packages=$(tr ' ' '\n' <"$here/train.packages" | paste -sd, | sed 's/,/, /g')
build libdtnn-dev libdevel "libdtnn$soname (= $version), $packages" "neural networks for C++ and C"

stage python3-dtnn
modules=$tree/usr/lib/python3/dist-packages
/usr/bin/python3 -m zipfile -e "$here"/../apps/python/wheel/*.whl "$modules"
rm "$modules"/*.dist-info/RECORD # it is pip's list of what it may remove
depends=$(libraries "$modules/dtnn/_core.so")
python=$(/usr/bin/python3 -c 'import sys; print("python3 (>= %d.%d), python3 (<< %d.%d)" % (*sys.version_info[:2], sys.version_info[0], sys.version_info[1] + 1))')
build python3-dtnn python "$python, python3-numpy, $depends" "neural networks for Python"

stage dtnn
mkdir -p "$tree/usr/lib/dtnn" "$tree/usr/bin" "$tree/usr/share/man/man1"
mv "$work/all/usr/bin" "$tree/usr/lib/dtnn/bin"
gzip -9n <"$work/all/usr/share/man/man1/benchmark.1" >"$tree/usr/share/man/man1/dtnn-benchmark.1.gz"
install -m 755 "$here/dtnn.sh" "$tree/usr/bin/dtnn"
depends=$(libraries "$tree"/usr/lib/dtnn/bin/*)
build dtnn science "$depends, openmpi-bin" "trains neural networks and predicts with them"
