#!/bin/sh
# Runs one of DTNN's programs: dtnn benchmark --help
bin=/usr/lib/dtnn/bin
if [ "${1:-}" = --version ]; then exec "$bin/benchmark" --version; fi
if [ -x "$bin/${1:-.}" ] && [ ! -d "$bin/${1:-.}" ]; then
  program=$1
  shift
  PATH=$bin:$PATH exec "$bin/$program" "$@"
fi
echo "usage: dtnn PROGRAM [ARGUMENT]... Programs:" $(ls "$bin") >&2
exit 2
