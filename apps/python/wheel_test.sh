#!/usr/bin/env bash
# The wheel is installed, and works from there. usage: wheel_test.sh FOLDER VERSION MODEL
set -euo pipefail
wheel=$(echo "$PWD/$1"/*.whl) version=$2 model=$PWD/$3
export PYTHONDONTWRITEBYTECODE=1
site=$TEST_TMPDIR/site
tag=$(/usr/bin/python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
[[ $(basename "$wheel") == dtnn-$version-$tag-$tag-linux_*.whl ]]

if /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
  # A user's settings must not count.
  PIP_CONFIG_FILE=/dev/null /usr/bin/python3 -m pip --disable-pip-version-check install --quiet \
    --no-index --no-deps --no-compile --root-user-action=ignore --target "$site" "$wheel"
else
  echo "pip is not installed: the wheel is unpacked"
  /usr/bin/python3 -m zipfile -e "$wheel" "$site"
fi
if ldd "$site/dtnn/_core.so" | grep -q 'lib[a-z]*san\.so'; then
  echo "SKIPPED: Python alone cannot load a module that was built with a sanitizer"
  exit 0
fi
cd "$TEST_TMPDIR"
PYTHONPATH=$site /usr/bin/python3 -W error - "$model" "$version" "$wheel" <<'END'
import base64, csv, hashlib, importlib.metadata, pathlib, sys, zipfile
import dtnn

assert dtnn.__file__.startswith(str(pathlib.Path.cwd() / "site")), dtnn.__file__
assert dtnn.__version__ == sys.argv[2] == importlib.metadata.version("dtnn"), dtnn.__version__
assert dtnn.load(sys.argv[1]).name == "simplecnn"

with zipfile.ZipFile(sys.argv[3]) as wheel:  # nothing of when and where it was made
    assert {entry.date_time for entry in wheel.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert wheel.namelist() == sorted(wheel.namelist())

root = pathlib.Path(dtnn.__file__).parent.parent
info = next(root.glob("*.dist-info"))
assert (info / "LICENSE").read_text().lstrip().startswith("Apache License")
notice = pathlib.Path("/usr/share/doc/pybind11-dev/copyright").read_text()
assert (info / "licenses" / "pybind11-dev").read_text() == notice
rows = [row for row in csv.reader(open(info / "RECORD")) if row[1]]
assert len(rows) > 10, rows
names = {row[0] for row in rows}
for name in ("dtnn/_core.so", "dtnn/__init__.pyi", "dtnn/py.typed"):
    assert name in names, name
for name, digest, size in rows:
    data = (root / name).read_bytes()
    told = digest.removeprefix("sha256=") + "="
    assert base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode() == told, name
    assert len(data) == int(size), name
END
