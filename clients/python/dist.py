"""Makes the wheel and the source distribution, with nothing but Python: a build backend (PEP 517) in one file.

Two builds give identical files. The package's name, description and other metadata are below; the version is read from
leasehold/__init__.py.
"""

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = sorted(path.relative_to(HERE).as_posix() for path in (HERE / "leasehold").iterdir() if path.suffix != ".pyc" and path.is_file())
SOURCES = sorted([*MODULES, "LICENSE", "README.md", "build", "dist.py", "pyproject.toml"])
VERSION = re.search(r'__version__ = "(.*)"', (HERE / "leasehold/__init__.py").read_text(encoding="utf-8")).group(1)
NAME = f"leasehold-{VERSION}"
INFO = f"{NAME}.dist-info"

METADATA = f"""\
Metadata-Version: 2.1
Name: leasehold
Version: {VERSION}
Summary: Locks that outlive a request, a transaction and a process: the client of the Leasehold server
License: Apache-2.0
Keywords: lock,lease,distributed lock,pessimistic offline lock,fencing token
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text(encoding="utf-8")}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: leasehold
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {name: (HERE / name).read_bytes() for name in MODULES}
    files[f"{INFO}/LICENSE"] = (HERE / "LICENSE").read_bytes()
    files[f"{INFO}/METADATA"] = METADATA.encode()
    files[f"{INFO}/WHEEL"] = WHEEL.encode()
    rows = [f"{name},{digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{INFO}/RECORD"] = "\n".join([*rows, f"{INFO}/RECORD,,", ""]).encode()
    file = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / file, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return file


def build_sdist(sdist_directory, config_settings=None):
    file = f"{NAME}.tar.gz"
    files = {name: (HERE / name).read_bytes() for name in SOURCES}
    files["PKG-INFO"] = METADATA.encode()
    with open(Path(sdist_directory) / file, "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(f"{NAME}/{name}")
                entry.size = len(content)
                entry.mode = 0o755 if name == "build" else 0o644
                archive.addfile(entry, io.BytesIO(content))
    return file


def digest(content):
    hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + hashed.decode().rstrip("=")
