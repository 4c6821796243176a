#!/usr/bin/env bash
# What is for readers of the sources goes, and marks that are not in pairs are errors.
set -euo pipefail

page="$TEST_TMPDIR/page.md"

run() {
  printf "$1" >"$page"
  packaging/installed_commands.py "dtnn " "$page" 2>&1
}

fails() {
  local said
  if said=$(run "$1"); then
    echo "expected an error for $1" >&2
    exit 1
  fi
  [[ $said == "$page:$2" ]] || { echo "got '$said', expected '$page:$2'" >&2; exit 1; }
  [[ $(<"$page") == "$(printf "$1")" ]] || { echo "the page has changed: $1" >&2; exit 1; }
}

run 'a <!-- sources -->b<!-- end -->c\n<!-- sources -->\nd\n<!-- end -->\n<!-- installed: e -->\n`bazel run //apps:predict -- --help`\n'
[[ $(<"$page") == $'a c\ne\n`dtnn predict --help`' ]] || { cat "$page" >&2; exit 1; }

fails 'a\n<!-- end -->\n' '2: <!-- end -->; expected <!-- sources --> first'
fails '<!-- sources -->a\n<!-- sources -->b<!-- end -->\n' '2: <!-- sources -->; expected <!-- end --> first'
fails '<!-- sources -->a<!-- end -->\n<!-- sources -->b\n' \
  '2: <!-- sources --> without an <!-- end --> after it'
