#!/bin/sh
# Runs one of DTNN's programs: dtnn benchmark --help
bin=/usr/lib/dtnn/bin
list=/usr/lib/dtnn/programs # a name, a tab, and what it does; a line each

usage() {
  echo "usage: dtnn PROGRAM [ARGUMENT]..."
  echo
  while IFS="$(printf '\t')" read -r name does; do
    printf '  %-18s %s\n' "$name" "$does"
  done <"$list"
  echo
  echo "dtnn PROGRAM --help explains a program, and dtnn --version names the version."
}

# The program whose name is at most two letters from $1, added, left out or changed.
nearest() {
  ls "$bin" | word=$1 awk '
    function least(a, b) { return a < b ? a : b }
    BEGIN { word = ENVIRON["word"]; best = 3 }
    {
      for (j = 0; j <= length(word); ++j) row[j] = j
      for (i = 1; i <= length($0); ++i) {
        diagonal = row[0]
        row[0] = i
        for (j = 1; j <= length(word); ++j) {
          changed = diagonal + (substr($0, i, 1) != substr(word, j, 1))
          diagonal = row[j]
          row[j] = least(changed, 1 + least(row[j], row[j - 1]))
        }
      }
      if (row[length(word)] < best) { best = row[length(word)]; name = $0 }
    }
    END { print name }'
}

case ${1:-} in
  --version) "$bin/benchmark" --version | sed 's/.* /dtnn /' && exit ;;
  --help | -h) usage && exit ;;
  "") usage >&2 && exit 2 ;;
esac
if [ -x "$bin/$1" ] && [ ! -d "$bin/$1" ]; then
  program=$1
  shift
  PATH=$bin:$PATH exec "$bin/$program" "$@"
fi
meant=$(nearest "$1")
printf 'dtnn: "%s": no such program%s (dtnn --help shows all)\n' \
  "$1" "${meant:+; did you mean $meant?}" >&2
exit 2
