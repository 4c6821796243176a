#!/usr/bin/env bash
# What the program `dtnn` says and runs, of programs that only say what they are called.
# usage: dtnn_test.sh DTNN.SH COMPLETION.BASH COMPLETION.ZSH
set -euo pipefail

bin=$TEST_TMPDIR/bin
mkdir "$bin"
for name in benchmark predict newest; do
  printf '#!/bin/sh\nif [ "$1" = --version ]; then echo "%s (DTNN) 1.2.3"; exit; fi\n' "$name" >"$bin/$name"
  printf 'echo "%s: $*"\nexit 7\n' "$name" >>"$bin/$name"
  chmod +x "$bin/$name"
done
list=$TEST_TMPDIR/programs
printf 'benchmark\ttrains or tests a network\nnewest\tis new\npredict\tclassifies images\n' >"$list"
sed "s#^bin=.*#bin=$bin#; s#^list=.*#list=$list#" "$1" >"$TEST_TMPDIR/dtnn"

failed=false
# expect EXIT_CODE OUT ERR ARGUMENT...: patterns of all that it writes.
expect() {
  local code=0
  sh "$TEST_TMPDIR/dtnn" "${@:4}" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || code=$?
  [[ $code = "$1" && $(<"$TEST_TMPDIR/out") == $2 && $(<"$TEST_TMPDIR/err") == $3 ]] && return
  echo "FAILED: dtnn ${*:4}: exit code $code" >&2
  cat "$TEST_TMPDIR/out" "$TEST_TMPDIR/err" >&2
  failed=true
}
list=$'usage: dtnn PROGRAM *\n  benchmark          trains or tests a network\n  newest             is new\n  predict            classifies *'
expect 0 "$list" "" --help
expect 2 "" "$list"
expect 0 "dtnn 1.2.3" "" --version
expect 7 "predict: a  b --help" "" predict "a  b" --help
expect 2 "" 'dtnn: "benchmrk": no such program; did you mean benchmark? (dtnn --help shows all)' benchmrk
expect 2 "" 'dtnn: "pradicts": no such program; did you mean predict? (dtnn --help shows all)' pradicts
expect 2 "" 'dtnn: "colour": no such program (dtnn --help shows all)' colour
expect 2 "" 'dtnn: "a\\b": no such program (dtnn --help shows all)' 'a\b'
expect 2 "" 'dtnn: "..": no such program (dtnn --help shows all)' ..

# Completion: of the programs, then as the program says.
for name in benchmark predict; do
  printf '#!/bin/sh\necho "_dtnn_%s() { COMPREPLY=(\\"%s \\$COMP_CWORD \\${COMP_WORDS[*]}\\"); }"\n' \
    $name $name >"$bin/$name"
done
sed "s#bin=/usr[^ ]*#bin=$bin#" "$2" >"$TEST_TMPDIR/completion"
# offers OFFERS WORD...
offers() {
  local said
  said=$(bash -uc 'source "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _dtnn; echo "${COMPREPLY[*]-}"' \
    "$TEST_TMPDIR/completion" dtnn "${@:2}")
  [[ $said == "$1" ]] && return
  echo "FAILED: completion of dtnn ${*:2}: $said" >&2
  failed=true
}
offers "benchmark newest predict --help --version" ""
offers "predict" pre
offers "--version" --v
offers "predict 1 predict --to" predict --to
offers "benchmark 3 benchmark --top = 3" benchmark --top = 3
offers "predict" launch -n 2 -- pre
offers "predict 1 predict --to" launch -n 2 -- predict --to
offers "" launch -n 2 -- colour --to
offers "" colour --to
offers "" "a b" --to

# The same by zsh, at a terminal: words are completed where a tab is.
if ! command -v zsh >/dev/null; then
  echo "SKIPPED: zsh is not installed; ./setup.sh --dev installs it"
else
  mkdir "$TEST_TMPDIR/functions"
  sed "s#bin=/usr[^ ]*#bin=$bin#; s#list=/usr[^ ]*#list=$TEST_TMPDIR/programs#" "$3" >"$TEST_TMPDIR/functions/_dtnn"
  for name in benchmark predict; do
    printf '#!/bin/sh\necho "_dtnn_%s() { compadd -- \"%s-\$CURRENT-\$words[1]\"; }"\n' \
      $name $name >"$bin/$name"
  done
  cat >"$TEST_TMPDIR/terminal" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "stty -echo; unsetopt zle_bracketed_paste; TERM=dumb; fpath=($1 \$fpath)
autoload -U compinit; compinit -D -u; dtnn() { printf '<%s>' \"\$@\"; echo; }; echo so''urced"
zpty -r -m shell said '*sourced*'
zpty -w shell $'dtnn bench\t\t\ndtnn --v\t\ndtnn launch -n 2 -- bench\t\t\necho do\'\'ne'
zpty -r -m shell said '*done*'
print -r -- $said
END
  said=$(timeout 50 zsh -f "$TEST_TMPDIR/terminal" "$TEST_TMPDIR/functions" || true)
  for words in "<benchmark><benchmark-2-benchmark>" "<--version>" \
    "<launch><-n><2><--><benchmark><benchmark-2-benchmark>"; do
    [[ $said == *"$words"* ]] && continue
    echo "FAILED: zsh completes $words: $said" >&2
    failed=true
  done
fi
! $failed
