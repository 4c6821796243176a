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
  [ ! -d "$work/all/usr/share/doc/dtnn/licenses" ] ||
    cp -r "$work/all/usr/share/doc/dtnn/licenses" "$documents"
  gzip -9n >"$documents/changelog.gz" <<END
dtnn ($version) bookworm; urgency=medium

  * NEWS.gz says what has changed.

 -- $maintainer  $(date -u -R -d "$date")
END
  gzip -9n <"$work/news" >"$documents/NEWS.gz"
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
# build PACKAGE SECTION DEPENDS DESCRIPTION [RECOMMENDS]: the package of the tree.
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
Depends: $3${5:+
Recommends: $5}
Description: $4
 DTNN trains convolutional networks, on one process or many, and predicts
 with them.
END
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb -Zxz -z1 --root-owner-group --build "$tree" "$out/$1.deb" >&2
}

DESTDIR=$work/all DTNN_CALLED="dtnn " "$here/install.sh" --prefix=/usr >&2
# Every package has it, and one of them what it links to.
printf 'CHANGES.md\tNEWS\n' >"$work/pages"
/usr/bin/python3 "$here/installed_page.py" CHANGES.md "$work/pages" \
  <"$work/all/usr/share/doc/dtnn/CHANGES.md" >"$work/news"

stage "libdtnn$soname"
take "lib/libdtnn.so.$soname" "lib/libdtnn.so.$version"
# A program may call functions that older versions of the same soname do not have.
printf 'libdtnn %s libdtnn%s (>= %s)\n' "$soname" "$soname" "$version" >"$tree/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' >"$tree/DEBIAN/triggers"
depends=$(libraries "$tree/usr/lib/libdtnn.so.$version")
build "libdtnn$soname" libs "$depends" "predictions with neural networks: the C library"

stage libdtnn-dev
take include/dtnn.h include/dtnn lib/libdtnn.a lib/libdtnn-train.a lib/libdtnn.so lib/cmake/dtnn \
  lib/pkgconfig share/doc/dtnn/examples/{README.md,c,cmake,library,pkg-config,predict}
mv "$tree/usr/share/doc/dtnn/examples" "$tree/usr/share/doc/libdtnn-dev"
rmdir "$tree/usr/share/doc/dtnn"
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
install -D -m 644 -t "$tree/usr/share/doc/python3-dtnn/examples" "$here/../examples/python/fashion_mnist.py"
printf '#!/bin/sh\nset -e\nrm -rf /usr/lib/python3/dist-packages/dtnn/__pycache__\n' >"$tree/DEBIAN/prerm"
chmod 755 "$tree/DEBIAN/prerm"
depends=$(libraries "$modules/dtnn/_core.so")
python=$(/usr/bin/python3 -c 'import sys; print("python3 (>= %d.%d), python3 (<< %d.%d)" % (*sys.version_info[:2], sys.version_info[0], sys.version_info[1] + 1))')
build python3-dtnn python "$python, python3-numpy, $depends" "neural networks for Python"

stage dtnn
bin=$tree/usr/lib/dtnn/bin man=$tree/usr/share/man/man1
mkdir -p "$tree/usr/lib/dtnn" "$man"
take share/doc/dtnn/{README.md,CHANGES.md,SECURITY.md,bench,docs,examples}
mv "$work/all/usr/bin" "$bin"
install -D -m 755 "$here/dtnn.sh" "$tree/usr/bin/dtnn"
install -D -m 644 "$here/dtnn_completion.bash" "$tree/usr/share/bash-completion/completions/dtnn"
install -D -m 644 "$here/dtnn_completion.zsh" "$tree/usr/share/zsh/vendor-completions/_dtnn"
# A program in this folder knows that it is called `dtnn PROGRAM`. The list is that of dtnn --help.
for program in "$bin"/*; do
  name=${program##*/}
  page=$("$program" --help=man)
  gzip -9n <<<"$page" >"$man/dtnn-$name.1.gz"
  printf '%s\t%s\n' "$name" "$(sed -n '/^\.SH NAME/{n;s/.* \\- //;s/\\-/-/g;p;}' <<<"$page")"
done >"$tree/usr/lib/dtnn/programs"
{
  printf '.TH DTNN 1 "" "DTNN %s"\n.SH NAME\ndtnn \\- trains neural networks and predicts with them\n' "$version"
  printf '.SH SYNOPSIS\n.B dtnn\n.I program\n.RI [ argument ...]\n.SH DESCRIPTION\nRuns one of:\n'
  while IFS=$'\t' read -r name does; do
    printf '.TP\n.BR dtnn\\-%s (1)\n%s\n' "$name" "${does//-/\\-}"
  done <"$tree/usr/lib/dtnn/programs"
  printf '.PP\nPages and messages name a program without what stands before it: predict is\n'
  printf '.B dtnn predict\nhere.\n.B dtnn\n.I program\n.B \\-\\-help\nexplains one.\n'
} | gzip -9n >"$man/dtnn.1.gz"
depends=$(libraries "$tree"/usr/lib/dtnn/bin/*)
build dtnn science "$depends, openmpi-bin" "trains neural networks and predicts with them" \
  dataset-fashion-mnist # what it trains on without options
