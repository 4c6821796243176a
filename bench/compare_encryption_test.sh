#!/usr/bin/env bash
# The errors of our encrypted sums against TenSEAL's, where that is installed for python3 (or for
# the interpreter that DTNN_TENSEAL_PYTHON names: --test_env=DTNN_TENSEAL_PYTHON=...).
set -euo pipefail
python=${DTNN_TENSEAL_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: no $python"; exit 0; }
exec "$python" bench/compare_encryption.py --binary=bench/encrypted_sum --values=1 --rounds=1
