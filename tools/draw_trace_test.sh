#!/usr/bin/env bash
# A trace of two ranks becomes a picture with a row for each and the arrow between exchange and wait.
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
cd "$TEST_TMPDIR"
draw=$TEST_SRCDIR/$TEST_WORKSPACE/tools/draw_trace.py
slice() {  # NAME PID TS DUR
  echo "{\"ph\":\"X\",\"name\":\"$1\",\"cat\":\"${1#5_FC }\",\"pid\":$2,\"tid\":1,\"ts\":$3,\"dur\":$4},"
}
{
  echo '{"traceEvents":['
  for pid in 1 2; do
    echo "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":$pid,\"args\":{\"name\":\"rank $((pid - 1))\"}},"
    slice step $pid 0 1000.5
    slice '5_FC forward' $pid 10 400
    slice exchange $pid 500 100
    slice 'wait for gradients' $pid 700 200
  done
  echo '{"ph":"s","name":"sum","cat":"flow","id":"1","pid":1,"tid":1,"ts":550},'
  echo '{"ph":"f","name":"sum","cat":"flow","id":"1","pid":1,"tid":1,"ts":800,"bp":"e"}]}'
} > trace.json
python3 "$draw" trace.json --step=0 > picture.svg
python3 -c 'import sys, xml.dom.minidom as x; x.parse("picture.svg")'
for wanted in '>rank 0, ' '>rank 1, ' '<title>5_FC forward: 0.40 ms' '>1.0 ms<' '<path d="M'; do
  grep -q -- "$wanted" picture.svg || { echo "no $wanted in the picture"; exit 1; }
done
[ "$(grep -c '<title>' picture.svg)" -eq 6 ]
if python3 "$draw" trace.json --step=1 2> error; then echo "step 1 does not exist"; exit 1; fi
grep -q 'no step 1' error
