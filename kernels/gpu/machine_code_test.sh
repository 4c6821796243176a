#!/usr/bin/env bash
# The machine code of the kernels that run over activations; only with --config=cuda. To renew the
# table of registers after a change that is meant:
#
#   bazel test --config=cuda --test_env=DTNN_MACHINE_CODE_TABLE=$PWD/kernels/gpu/testdata/registers.txt \
#       --spawn_strategy=local //kernels/gpu:machine_code_test
set -euo pipefail
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
[ $# -gt 0 ] || { echo "skipped: this build has no GPU support"; exit 0; }
for needed in python3 c++filt "$ptxas"; do
  command -v "$needed" >/dev/null || { echo "skipped: no $needed"; exit 0; }
done
python3 "$TEST_SRCDIR/$TEST_WORKSPACE/kernels/gpu/machine_code.py" "$ptxas" kernels/gpu/testdata/registers.txt "$@"
