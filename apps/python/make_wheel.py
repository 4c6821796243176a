"""Writes a wheel for the Python that runs this:

    make_wheel.py VERSION LICENSE PACKAGE,PACKAGE,... FOLDER FILE...

Each FILE is one of the package, below a folder "dtnn"; each PACKAGE one of Debian, whose notice goes
with it where this system has it. The same files make the same wheel, byte for byte.
"""

import base64
import hashlib
import importlib.metadata
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

METADATA = """\
Metadata-Version: 2.1
Name: dtnn
Version: {version}
Summary: Trains convolutional networks and predicts with them
License: Apache-2.0
License-File: LICENSE
Requires-Python: =={python}.*
Requires-Dist: numpy =={numpy}.*
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: dtnn {version}
Root-Is-Purelib: false
Tag: {tag}
"""


def content(path):
    """What the wheel has of a file: modules without what only debuggers need."""
    if path.suffix != ".so":
        return path.read_bytes()
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped.name, path], check=True)
        return pathlib.Path(stripped.name).read_bytes()


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main(version, licence, packages, folder, *paths):
    python = f"{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp{python}-cp{python}-{platform}"
    info = f"dtnn-{version}.dist-info"
    files = {
        f"{info}/LICENSE": pathlib.Path(licence).read_bytes(),
        f"{info}/METADATA": METADATA.format(
            version=version,
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            numpy=importlib.metadata.version("numpy").split(".")[0],
        ).encode(),
        f"{info}/WHEEL": WHEEL.format(version=version, tag=tag).encode(),
    }
    for package in packages.split(","):
        notice = pathlib.Path("/usr/share/doc", package, "copyright")
        if notice.exists():
            files[f"{info}/licenses/{package}"] = notice.read_bytes()
    for path in map(pathlib.Path, paths):
        files[f"dtnn/{path.name}"] = content(path)
    record = "".join(record_line(name, files[name]) for name in sorted(files))
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(pathlib.Path(folder) / f"dtnn-{version}-{tag}.whl", "w") as wheel:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 9)


main(*sys.argv[1:])
