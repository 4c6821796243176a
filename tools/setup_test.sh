#!/usr/bin/env bash
# setup.sh on systems that this one is not: apt-get, apt-cache and dpkg-query are replaced by scripts
# that play a release with other packages.
#
# usage: setup_test.sh PATH_OF_SETUP
set -uo pipefail
setup=$PWD/$1
system=$(mktemp -d)
trap 'rm -rf "$system"' EXIT
failed=0

# The system: files named after packages, in known/ (its lists), broken/ (apt-get fails on them) and
# installed/.
mkdir "$system"/{bin,known,broken,installed}
for tool in bash env sed grep sleep wc id cat; do ln -s "$(command -v "$tool")" "$system/bin"; done
# Root installs without it, anybody else with it.
printf '#!%s\nexec "$@"\n' "$BASH" >"$system/bin/sudo"
cat >"$system/bin/dpkg-query" <<'END'
#!/usr/bin/env bash
[ -e "$SYSTEM/installed/${*: -1}" ] && printf installed
END
cat >"$system/bin/apt-cache" <<'END'
#!/usr/bin/env bash
case $1 in
  # As the real one, it has not said all with that line: whoever stops reading there ends it.
  policy)
    if [ -e "$SYSTEM/known/$2" ]; then echo "  Candidate: 1.0"; else echo "  Candidate: (none)"; fi
    sleep 0.02
    echo "  Version table:"
    ;;
  depends) sed 's/^/  Depends: /' "$SYSTEM/known/$2" ;;
esac
END
cat >"$system/bin/apt-get" <<'END'
#!/usr/bin/env bash
[[ " $* " == *" update "* ]] && exit 0
echo "$*" >>"$SYSTEM/calls"
while [ "$1" != --no-install-recommends ]; do shift; done
shift
for package in "$@"; do
  if [ ! -e "$SYSTEM/known/$package" ] || [ -e "$SYSTEM/broken/$package" ]; then
    echo "E: Unable to correct problems with $package" >&2
    exit 100
  fi
done
for package in "$@"; do : >"$SYSTEM/installed/$package"; done
END
chmod +x "$system"/bin/*

# A system with the packages of this one's table, and clang 19.
reset() {
  rm -f "$system"/{known,broken,installed}/* "$system/calls"
  for package in $(sed -n 's/^\([a-z][^ |]*\) *|.*/\1/p' "$setup") libclang-rt-19-dev; do
    : >"$system/known/$package"
  done
  echo clang-19 >"$system/known/clang"
}

# Runs setup.sh with the arguments; leaves `output` and `code`.
run() {
  output=$(SYSTEM=$system PATH=$system/bin bash "$setup" "$@" 2>&1)
  code=$?
}

expect() { # what, condition...
  local what=$1
  shift
  "$@" && return
  echo "FAILED: $what; exit code $code, output:"$'\n'"${output:0:2000}"
  failed=1
}
# shellcheck disable=SC2317  # called by expect
says() { [[ $output == *"$1"* ]]; }
# shellcheck disable=SC2317
is() { [ "$1" = "$2" ]; }

reset
run --dev
expect "everything is installed" is "$code" 0
expect "it says so" says "everything is there"
expect "clang's run-time of its version" test -e "$system/installed/libclang-rt-19-dev"
expect "in one call" is "$(wc -l <"$system/calls")" 1
run --dev --check
expect "then nothing is missing" is "$code" 0
run
expect "nor is anything run" says "packages are installed"

reset
rm "$system/known/libclang-rt-19-dev"
: >"$system/known/libclang-common-19-dev"
run --dev
expect "an older release has the run-time with the headers" is "$code" 0
expect "that package" test -e "$system/installed/libclang-common-19-dev"

reset
rm "$system/known/bazel-bootstrap"
run
expect "no bazel: fails" is "$code" 1
expect "says what to do" says "bazel-bootstrap (builds everything (Bazel)): this system's package lists do not have it; install Bazel 4.2 to 6"
expect "the others are installed" test -e "$system/installed/libzip-dev"
printf '#!%s\n' "$BASH" >"$system/bin/bazel"
chmod +x "$system/bin/bazel"
run
expect "a bazel from elsewhere will do" is "$code" 0
rm "$system/bin/bazel"

reset
: >"$system/broken/libhwy-dev"
run
expect "a package that cannot be installed: fails" is "$code" 1
expect "names it" says "  libhwy-dev (Highway: SIMD on every x86-64): could not be installed (see above)"
expect "names no other" is "$(grep -c '^  [a-z].*): ' <<<"$output")" 1
expect "and stops none" test -e "$system/installed/zlib1g-dev"

reset
rm "$system/known/g++"
ln -s "$BASH" "$system/bin/my-cc"
CC="my-cc -m64" run
expect "the compiler that CC names will do" is "$code" 0
CC=no-such-cc run --check
expect "one that is not there will not" says " g++"

reset
run --check
expect "--check installs nothing" test ! -e "$system/calls"
expect "and fails" is "$code" 1
run --nonsense
expect "wrong usage" is "$code" 2
rm "$system/bin/apt-get"
run
expect "without apt-get the packages are listed" says "  libarchive-dev "

exit $failed
