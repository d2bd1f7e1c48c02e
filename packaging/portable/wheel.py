#!/usr/bin/env python3
"""Packs OUT/tree and the Python package sweepdb as OUT/ppo_sweep-VERSION-py3-none-manylinux_2_28_x86_64.whl.

The tree goes into the environment's prefix, as `make install PREFIX=...` puts it: programs into bin/, libraries into
lib/sweep/, and so on. The same tree gives the same bytes. Usage: wheel.py OUT VERSION DAY
"""
import base64
import hashlib
import os
import sys
import zipfile
from pathlib import Path

TAG = "py3-none-manylinux_2_28_x86_64"
PROJECT = Path(__file__).resolve().parents[2]
METADATA = """\
Metadata-Version: 2.4
Name: ppo-sweep
Version: {version}
Summary: Sweeps of PPO experiments on a laptop or a Slurm cluster: run, measure, draw
License-Expression: MIT
Requires-Python: >=3.9
Requires-Dist: numpy>=1.24
Provides-Extra: env
Requires-Dist: gymnasium>=1.1; extra == "env"
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
{license_files}Description-Content-Type: text/markdown

`sweep` runs grids of your own programs or of its own PPO trainer, on a laptop or a Slurm cluster; `trainer` simulates
thousands of 2D physics worlds; `analyze` draws the figures and tests the claims; `sweepdb` reads results in Python.

    sweep --help
    sweep plan $(dirname $(command -v sweep))/../share/sweep/experiments/fig8_ddr.ini --profile demo

The programs contain their libraries, whose licenses lie in this package. MPI, CUDA, NCCL, MuJoCo and Procgen are
found at run time.
"""


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class Wheel:
    """A zip file whose entries have one date, and the record of their hashes."""

    def __init__(self, path: Path, day: str):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.date = tuple(int(part) for part in day.split("-")) + (0, 0, 0)
        self.record: list[str] = []

    def add(self, name: str, data: bytes, executable: bool = False) -> None:
        info = zipfile.ZipInfo(name, self.date)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(info, data)
        self.record.append(f"{name},{digest(data)},{len(data)}\n")

    def add_folder(self, folder: Path, target: str) -> None:
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
            if "__pycache__" not in file.parts:
                self.add(f"{target}/{file.relative_to(folder)}", file.read_bytes(), os.access(file, os.X_OK))

    def close(self, info: str) -> None:
        name = f"{info}/RECORD"
        self.zip.writestr(zipfile.ZipInfo(name, self.date), "".join(self.record) + f"{name},,\n")
        self.zip.close()


def main() -> None:
    out, version, day = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    for old in out.glob("ppo_sweep-*.whl"):
        old.unlink()
    path = out / f"ppo_sweep-{version}-{TAG}.whl"
    info, data = f"ppo_sweep-{version}.dist-info", f"ppo_sweep-{version}.data"
    part = out / "wheel.part"
    wheel = Wheel(part, day)

    wheel.add_folder(PROJECT / "python" / "sweepdb", "sweepdb")
    wheel.add_folder(out / "tree" / "bin", f"{data}/scripts")
    for folder in ("lib", "share", "include"):
        wheel.add_folder(out / "tree" / folder, f"{data}/data/{folder}")

    licenses = {"LICENSE": (PROJECT / "LICENSE").read_bytes()}
    licenses |= {f"libraries/{file.name}": file.read_bytes() for file in sorted((out / "licenses").iterdir())}
    for name, text in licenses.items():
        wheel.add(f"{info}/licenses/{name}", text)
    text = METADATA.format(version=version, license_files="".join(f"License-File: {name}\n" for name in licenses))
    wheel.add(f"{info}/METADATA", text.encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: make wheel\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
    wheel.close(info)
    part.rename(path)
    files = [entry.file_size for entry in zipfile.ZipFile(path).infolist()]
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {sum(files) / 1e6:.1f} MB installed, {len(files)} files")


main()
