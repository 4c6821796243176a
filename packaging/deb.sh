#!/usr/bin/env bash
# Debian packages of an installation. usage: deb.sh VERSION DATE SONAME_VERSION FOLDER, which
# receives
#   dtnn.deb         the programs, as `dtnn PROGRAM`: others have programs with their names
#   libdtnn<N>.deb   the shared library
#   libdtnn-dev.deb  headers, archives, packages for CMake and pkg-config
#   python3-dtnn.deb the package for Python
set -euo pipefail

version=$1 date=$2 soname=$3 out=$PWD/$4
here=${RUNFILES_DIR:-$0.runfiles}/dtnn/packaging
export RUNFILES_DIR=${here%/dtnn/packaging}
work=$(mktemp -d)
# What its programs say is shown only if one fails: a build says nothing where all is well.
trap 'status=$?; [[ $status == 0 ]] || cat "$work/log" >&3; rm -rf "$work"' EXIT
exec 3>&2 2>"$work/log"
export LC_ALL=C SOURCE_DATE_EPOCH=$(date -u -d "$date" +%s)
umask 022
maintainer="The DTNN authors <dtnn@example.org>"
multiarch=$(dpkg-architecture -q DEB_HOST_MULTIARCH)

# stage PACKAGE: an empty tree with what Debian wants to know of every package.
stage() {
  tree=$work/$1
  local documents=$tree/usr/share/doc/$1
  mkdir -p "$tree/DEBIAN" "$documents"
  cat >"$documents/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: DTNN

Files: *
Copyright: ${date%%-*} The DTNN authors
License: Apache-2.0
 On Debian systems, /usr/share/common-licenses/Apache-2.0 is the full text.
END
  gzip -9n >"$documents/changelog.gz" <<END
dtnn ($version) bookworm; urgency=medium

  * NEWS.gz says what has changed.

 -- $maintainer  $(date -u -R -d "$date")
END
  gzip -9n <"$work/all/usr/share/doc/dtnn/CHANGES.md" >"$documents/NEWS.gz"
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
Maintainer: $maintainer
Section: $2
Priority: optional
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: $3
Description: $4
 DTNN trains convolutional networks, on one process or many, and predicts
 with them.
END
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb -Zxz -z1 --root-owner-group --build "$tree" "$out/$1.deb" >&2
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
# They name folders of this architecture.
mkdir -p "$tree/usr/lib/$multiarch"
mv "$tree/usr/lib/pkgconfig" "$tree/usr/lib/$multiarch/pkgconfig"
sed -i 's#^prefix=.*#&/..#' "$tree/usr/lib/$multiarch"/pkgconfig/*.pc
strip --strip-debug "$tree"/usr/lib/*.a
packages=$(tr ' ' '\n' <"$here/train.packages" | paste -sd, | sed 's/,/, /g')
build libdtnn-dev libdevel "libdtnn$soname (= $version), $packages" "neural networks for C++ and C"

stage python3-dtnn
modules=$tree/usr/lib/python3/dist-packages
/usr/bin/python3 -m zipfile -e "$here"/../apps/python/wheel/*.whl "$modules"
rm "$modules"/*.dist-info/RECORD # it is pip's list of what it may remove
printf '#!/bin/sh\nset -e\nrm -rf /usr/lib/python3/dist-packages/dtnn/__pycache__\n' >"$tree/DEBIAN/prerm"
chmod 755 "$tree/DEBIAN/prerm"
depends=$(libraries "$modules/dtnn/_core.so")
python=$(/usr/bin/python3 -c 'import sys; print("python3 (>= %d.%d), python3 (<< %d.%d)" % (*sys.version_info[:2], sys.version_info[0], sys.version_info[1] + 1))')
build python3-dtnn python "$python, python3-numpy, $depends" "neural networks for Python"

stage dtnn
mkdir -p "$tree/usr/lib/dtnn" "$tree/usr/bin" "$tree/usr/share/man/man1"
mv "$work/all/usr/bin" "$tree/usr/lib/dtnn/bin"
gzip -9n <"$work/all/usr/share/man/man1/benchmark.1" >"$tree/usr/share/man/man1/dtnn-benchmark.1.gz"
install -m 755 "$here/dtnn.sh" "$tree/usr/bin/dtnn"
{
  printf '.TH DTNN 1\n.SH NAME\ndtnn \\- trains neural networks and predicts with them\n'
  printf '.SH SYNOPSIS\n.B dtnn\n.I program\n.RI [ argument ...]\n.SH DESCRIPTION\nRuns one of:\n'
  (cd "$tree/usr/lib/dtnn/bin" && printf '.br\n.B %s\n' *)
  printf '.PP\n.B dtnn\n.I program\n.B \\-\\-help\nexplains it.\n.SH SEE ALSO\n.BR dtnn\\-benchmark (1)\n'
} | gzip -9n >"$tree/usr/share/man/man1/dtnn.1.gz"
depends=$(libraries "$tree"/usr/lib/dtnn/bin/*)
build dtnn science "$depends, openmpi-bin" "trains neural networks and predicts with them"
