#!/usr/bin/env bash
# Installs DTNN; run it with `bazel run //:install -- --prefix=DIR`. docs/installing.md explains it.
set -euo pipefail
export LC_ALL=C  # one order of file names

usage() {
  cat <<'END'
usage: bazel run //:install -- --prefix=DIR [--components=predict,train,distributed,programs]
       bazel run //:install -- --prefix=DIR --uninstall

Installs headers, libraries, packages for CMake and pkg-config, programs, completion and a manual
page below DIR, and writes nothing outside of it. A second run replaces the first one's files; a file
that is there and was not installed by it is an error, before anything is written.

  --prefix=DIR       where to; with DESTDIR=ROOT in the environment, below ROOT/DIR
  --components=LIST  predict: predictions in C and C++; train: training, on one process or several,
                     with predict; distributed: the same; programs. Not given: all
  --uninstall        removes what is installed
  --help             this text

Exit codes: 0 done, 1 failed, 2 wrong usage.
END
}

fail() {
  echo "install: $1" >&2
  exit "${2:-1}"
}

prefix=''
components=predict,train,programs
uninstall=false
for argument in "$@"; do
  case $argument in
    --prefix=?*) prefix=${argument#*=} ;;
    --components=*) components=${argument#*=} ;;
    --uninstall) uninstall=true ;;
    -h | --help) usage && exit 0 ;;
    *) fail "argument \"$argument\": is not an option; --help lists them" 2 ;;
  esac
done
[ -n "$prefix" ] || fail "--prefix=DIR is missing; /usr/local, or a folder of your own" 2
case $prefix in '~'*) fail "--prefix=$prefix: the shell did not expand ~; write \$HOME" 2 ;; esac
# As the caller's directory sees them, not the one in which Bazel starts programs.
from=${BUILD_WORKING_DIRECTORY:-$PWD}
destination=${DESTDIR:-}
case $prefix in /*) ;; *) prefix=$from/$prefix ;; esac
case $destination in '' | /*) ;; *) destination=$from/$destination ;; esac
root=$destination$prefix
list=share/dtnn/installed-files

wanted=()
IFS=, read -ra named <<<"$components"
for component in "${named[@]}"; do
  case $component in
    train | distributed) wanted+=(predict train) ;;
    predict | programs) wanted+=("$component") ;;
    *) fail "--components=$components: there is no \"$component\"; choose of predict, train, distributed, programs" 2 ;;
  esac
done
[ ${#wanted[@]} -gt 0 ] || fail "--components=: names none; choose of predict, train, distributed, programs" 2

cd "${RUNFILES_DIR:-$0.runfiles}/dtnn" || fail "run it with bazel run //:install"

# Removes what is listed on stdin: files, and folders (with a / at the end) if they are empty. What is
# within a folder comes after it in the list.
remove() {
  local path
  sort -r | while read -r path; do
    case $path in
      */) rmdir "$root/$path" 2>/dev/null || true ;;
      *) rm -f "$root/$path" ;;
    esac
  done
}
# The folders of the files on stdin that are not there, or that an earlier run made.
own_folders() {
  local path
  awk -F/ '{ path = ""; for (i = 1; i < NF; ++i) print path = path $i "/" }' | sort -u |
    while read -r path; do
      if [ ! -d "$root/$path" ] || grep -qxF "$path" "$old"; then echo "$path"; fi
    done
}

if $uninstall; then
  [ -f "$root/$list" ] || fail "$root/$list: is not there, so nothing is installed in $root"
  all=$(cat "$root/$list" && echo "$list")
  remove <<<"$all"
  echo "install: removed DTNN from $root"
  exit 0
fi

# Notices of other libraries are where this system has them, or are not.
entries=$(for component in "${wanted[@]}"; do cat "packaging/$component.manifest"; done | sort -u |
  while IFS=$'\t' read -r mode path source; do
    if [[ $source == /* && ! -s $source ]]; then
      echo "install: warning: $source is not there: $path is not installed" >&2
    else
      printf '%s\t%s\t%s\n' "$mode" "$path" "$source"
    fi
  done)
old=$(mktemp)
new=$(mktemp)
trap 'rm -f "$old" "$new"' EXIT
if [ -f "$root/$list" ]; then sort "$root/$list" >"$old"; fi
cut -f2 <<<"$entries" >"$new"
echo "$list" | cat - "$new" | own_folders | sort -u -o "$new" - "$new"
while read -r path; do
  case $path in */) continue ;; esac
  if [ -e "$root/$path" ] || [ -L "$root/$path" ]; then
    fail "$root/$path: exists, and is not of DTNN ($list does not name it); remove it, or choose another --prefix"
  fi
done < <(comm -13 "$old" "$new")

# The list first, of both: whatever stops this, the next run knows whose files these are.
mkdir -p "$root/${list%/*}"
sort -u "$old" "$new" >"$root/$list"
comm -23 "$old" "$new" | remove
while IFS=$'\t' read -r mode path source; do
  if [ "$mode" = link ]; then
    ln -sfn "$source" "$root/$path"
  else
    install -D -m "$mode" "$source" "$root/$path"
  fi
done <<<"$entries" # sorted by mode: links are last
pages=$(cut -f2 <<<"$entries" | sed -n '/\.md$/p')
(cd "$root" && xargs -r -d '\n' /usr/bin/python3 "$OLDPWD/packaging/installed_commands.py" "${DTNN_CALLED-}") <<<"$pages"
cp "$new" "$root/$list"

echo "install: $(grep -vc '/$' "$new") files, in $root"
