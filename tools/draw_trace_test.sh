#!/usr/bin/env bash
# A trace of two ranks, of either format, becomes a picture with a row for each and the arrow between
# exchange and wait, or the line of the communication.
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

cat > two.pcf <<'END'
DEFAULT_OPTIONS

STATES
0    Idle
1    Running
8    Wait/WaitAll


STATES_COLOR
1    {0,0,255}
END
cat > two.prv <<'END'
#Paraver (01/02/26 at 10:00):3000000_ns:2(1,1):1:2(1:1,1:2)
2:1:1:1:1:0:60000004:3
2:2:1:2:1:0:60000004:3:60000006:4096
1:1:1:1:1:0:400000:1
1:2:1:2:1:0:2000000:1
1:1:1:1:1:400000:2000000:8
3:2:1:2:1:1500000:1500000:1:1:1:1:1900000:1900000:4096:0
2:1:1:1:1:2000000:60000004:0
2:2:1:2:1:2000000:60000004:0
END
python3 "$draw" two.prv --step=0 > picture.svg
python3 -c 'import sys, xml.dom.minidom as x; x.parse("picture.svg")'
for wanted in 'rank 0, thread 1: Running 0.4 ms, Wait/WaitAll 1.6 ms' '>rank 1, thread 1<' '<title>Running: 2.00 ms' \
    '>2.0 ms<' '<path d="M662.5 70 L804.5 52"'; do
  grep -q -- "$wanted" picture.svg || { echo "no $wanted in the picture"; exit 1; }
done
