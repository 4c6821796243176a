#!/usr/bin/env bash
# The machine code of the kernels that run over activations; only with --config=cuda.
set -euo pipefail
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
[ $# -gt 0 ] || { echo "skipped: this build has no GPU support"; exit 0; }
for needed in python3 c++filt "$ptxas"; do
  command -v "$needed" >/dev/null || { echo "skipped: no $needed"; exit 0; }
done
python3 "$TEST_SRCDIR/$TEST_WORKSPACE/kernels/machine_code.py" "$ptxas" "$@"
