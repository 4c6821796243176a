#!/usr/bin/env bash
# What a profile, a simple trace, samples of power and a terminal show is in their pictures.
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
cd "$TEST_TMPDIR"
tools=$TEST_SRCDIR/$TEST_WORKSPACE/tools

picture() {  # WANTED... of picture.svg
  python3 -c 'import xml.dom.minidom as x; x.parse("picture.svg")'
  for wanted in '<title id="title">' prefers-color-scheme:dark "$@"; do
    grep -q -- "$wanted" picture.svg || { echo "no $wanted in the picture"; cat picture.svg; exit 1; }
  done
}
fails() {  # MESSAGE COMMAND...
  if "${@:2}" > /dev/null 2> error; then echo "succeeded: ${*:2}"; exit 1; fi
  grep -q -- "$1" error || { cat error; exit 1; }
}

layer() {  # NAME SHARE FLOPS BYTES
  echo "{\"name\":\"$1\",\"type\":\"${1#*_}\",\"share\":$2,\"flops_per_second\":$3,\"bytes_per_second\":$4}"
}
profile() { echo "{\"peak_flops_per_second\":1e11,\"copy_bytes_per_second\":2e10,\"layers\":[$1]}"; }
profile "$(layer 1_Conv2D 0.6 5e10 1e9),$(layer 2_Relu 0.25 0 1e10),$(layer 3_FC 0.1 1e10 8e9)" > profile.json
python3 "$tools/draw_profile.py" profile.json > picture.svg
picture '>peak 100 GFLOP/s<' '>copies 20 GB/s<' '>1_Conv2D, 60.0 %<' '<title>3_FC: 10 GFLOP/s, 8 GB/s, 10.0 %' \
    'Not drawn: 1 layers .* 25 %'
[ "$(grep -c '<circle' picture.svg)" -eq 2 ]
profile "$(layer 2_Relu 0.25 0 1e10)" > profile.json
fails 'no layer of this profile has operations' python3 "$tools/draw_profile.py" profile.json

fails 'draw_profile.py: missing.json: No such file' python3 "$tools/draw_profile.py" missing.json
for script in profile simple_trace power trace; do
  for wrong in "$tools/svg.py" picture.svg /dev/null; do
    fails "^draw_$script.py: " python3 "$tools/draw_$script.py" "$wrong"
    [ "$(wc -l < error)" -eq 1 ]
  done
done

cat > trace.csv <<'END'
Event type;Event value;Event name;Calls;Total time;Median of times
Model;6;01_Conv2D_forward;2;0.25;0.1
Model;7;01_Conv2D_backward;2;0.5;0.2
Model;12;02_FC_update_dw;2;0.125;0.1
Operations;38;01_Conv2D_forward_im2col;2;9;4
END
python3 "$tools/draw_simple_trace.py" trace.csv > picture.svg
picture '>01_Conv2D<' '>0.75<' '<title>02_FC update_dw: 0.125 s' 'x="386.7" [^>]*width="393.3"'
head -n 1 trace.csv > empty.csv
fails 'no events of type Model' python3 "$tools/draw_simple_trace.py" empty.csv

printf 'Time;Watts;Line0\n0;20;20\n1;40;40\n2;40;40\n' > trace.csv.watts
python3 "$tools/draw_power.py" trace.csv.watts --title='Power of <one>' > picture.svg
picture '>Power of &lt;one&gt;, 35 W on average<' '3 samples in 2.0 s' 'd="M50.0 158.1 L440.0 56.2 L830.0 56.2"'
printf 'Time;Watts;Line0\n0;20;20\n' > trace.csv.watts
fails 'fewer than two samples' python3 "$tools/draw_power.py" trace.csv.watts

# Of a program that draws over its line, what stands there in the end; of one that does not end, the
# line that was waited for.
if why=$(python3 -c 'import os; os.openpty()' 2>&1); then
  python3 "$tools/draw_terminal.py" --columns=30 -- \
      bash -c 'printf "first\nEpoch: 10%% [long line]\rEpoch: 90%% [short]\e[K\n"; stty size' > picture.svg
  picture '>first<' '>Epoch: 90% \[short\]<' '>50 30<'
  python3 "$tools/draw_terminal.py" --until='Epoch:  5' --rows=1 -- \
      bash -c 'printf "first\nEpoch:  4%% [a]\rEpoch:  5%% [b]"; sleep 1000' > picture.svg
  picture '>Epoch:  5% \[b\]<'
  [ "$(grep -c 'class="mono"' picture.svg)" -eq 1 ]
  fails "never showed 'x'" python3 "$tools/draw_terminal.py" --until=x true
  fails 'the command failed' python3 "$tools/draw_terminal.py" false
else
  echo "pictures of terminals: skipped: no pseudo-terminal can be had here: ${why##*$'\n'}"
fi

# The meter, asked as models/observe/energy/pmlib.cc does.
python3 "$tools/example_meter.py" --port=0 > meter & meter=$!
trap 'kill $meter' EXIT
for _ in $(seq 100); do if grep -q : meter; then break; fi; sleep 0.1; done
fails '^example_meter.py: port [0-9]*: Address already in use' \
    python3 "$tools/example_meter.py" --port="$(sed 's/.*://' meter)"
python3 - "$(sed 's/.*://' meter)" <<'END'
import socket, struct, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as meter:
    answers = meter.makefile("rb")
    def ask(request):
        meter.sendall(request)
        return struct.unpack("<i", answers.read(4))[0]
    name = b"example"
    assert ask(struct.pack("<2i", 0, len(name)) + name + struct.pack("<3i", 0, 0, 16) + bytes(16)) == 0
    assert ask(struct.pack("<i", 1)) == 0
    time.sleep(1)
    assert ask(struct.pack("<i", 3)) == 0
    count = ask(struct.pack("<i", 4))
    assert struct.unpack("<3i", answers.read(12)) == (1, 1, 0) and count > 0, count
    watts = struct.unpack(f"<{count}d", answers.read(8 * count))
    assert min(watts) >= 20, watts
    assert ask(struct.pack("<i", 9)) < 0
    assert ask(struct.pack("<i", 5)) == 0
END
