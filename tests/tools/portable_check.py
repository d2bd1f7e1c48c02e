"""Checks a portable package (packaging/portable): prints a line for each fault of a wheel, a tarball or a folder.

Programs and libraries may need glibc 2.28 and libstdc++ of gcc 8 at most, no library that is neither of the base system
nor inside, and find those inside by paths relative to themselves. A wheel's RECORD has the hash of each file, and each
license that its metadata list is there. Usage: portable_check.py WHEEL|TARBALL|FOLDER [BUILD-FOLDER]
BUILD-FOLDER: no file may contain this path.
"""
from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (8, 0, 0)}
# What every system with that glibc has: its own libraries, and those of the compiler.
BASE = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2",
        "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
NAMES = {"environ": "__environ", "program_invocation_name": "__progname_full",
         "program_invocation_short_name": "__progname", "timezone": "__timezone", "tzname": "__tzname"}
# Places of the package's own libraries, as seen from a folder of the tree.
PLACES = {"bin": ["lib/sweep", "lib"], "lib": ["lib/sweep"], "lib/sweep": ["lib/sweep"]}


def readelf(option: str, file: Path) -> str:
    return subprocess.run(["readelf", "-W", option, str(file)], capture_output=True, text=True, check=True).stdout


def check_versions(name: str, file: Path) -> list[str]:
    faults = []
    needs = readelf("--version-info", file).partition("Version needs section")[2]
    for family, version in sorted(set(re.findall(r"Name: ([A-Z]+)_([0-9.]+)", needs))):
        if family in NEWEST and tuple(map(int, version.split("."))) > NEWEST[family]:
            faults.append(f"{name}: needs {family}_{version}")
    return faults


def check_libraries(name: str, file: Path, tree: dict[str, Path]) -> list[str]:
    faults = []
    dynamic = readelf("--dynamic", file)
    folder = name.rpartition("/")[0]
    paths = [path for found in re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", dynamic) for path in found.split(":")]
    faults += [f"{name}: search path {path}" for path in paths if not path.startswith("$ORIGIN")]
    for library in re.findall(r"NEEDED\).*\[(.*)\]", dynamic):
        if library in BASE:
            continue
        inside = [place for place in PLACES.get(folder, []) if f"{place}/{library}" in tree]
        if not inside:
            faults.append(f"{name}: needs {library}, which is not inside")
        elif not any(places_of(folder, path) in inside for path in paths):
            faults.append(f"{name}: does not find {library} by {':'.join(paths) or 'no search path'}")
    return faults


def check_copies(name: str, file: Path) -> list[str]:
    """A program's copy of a variable of glibc must have all its names, or glibc goes on with another variable."""
    copied = set(re.findall(r"OBJECT +\w+ +\w+ +\d+ (\w+)@GLIBC", readelf("--dyn-syms", file)))
    return [f"{name}: copies {weak}, but not {strong}" for weak, strong in NAMES.items()
            if weak in copied and strong not in copied]


def places_of(folder: str, path: str) -> str:
    parts: list[str] = []
    for part in path.replace("$ORIGIN", folder).split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def check_tree(tree: dict[str, Path], build: str) -> list[str]:
    faults = []
    for name, file in sorted(tree.items()):
        data = file.read_bytes()
        if build and build.encode() in data:
            faults.append(f"{name}: contains {build}")
        if data[:4] == b"\x7fELF":
            faults += check_versions(name, file) + check_libraries(name, file, tree) + check_copies(name, file)
    programs = [name for name in ("sweep", "trainer", "analyze") if f"bin/{name}" not in tree]
    return faults + [f"no {name}" for name in programs]


def check_record(wheel: zipfile.ZipFile, info: str) -> list[str]:
    faults = []
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode()))}
    names = wheel.namelist()
    for name in sorted(set(names) ^ set(rows)):
        faults.append(f"{name}: only in {'the wheel' if name in names else 'RECORD'}")
    for name in sorted(set(names) & set(rows) - {f"{info}/RECORD"}):
        data = wheel.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if rows[name] != [f"sha256={digest}", str(len(data))]:
            faults.append(f"{name}: RECORD has another hash or size")
    return faults


def check_wheel(path: Path, folder: Path, build: str) -> list[str]:
    with zipfile.ZipFile(path) as wheel:
        info = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")).partition("/")[0]
        faults = check_record(wheel, info)
        data = info.replace(".dist-info", ".data")
        metadata = email.message_from_string(wheel.read(f"{info}/METADATA").decode())
        listed = {f"{info}/licenses/{name}" for name in metadata.get_all("License-File", [])}
        present = {name for name in wheel.namelist() if "/licenses/" in name and wheel.getinfo(name).file_size > 100}
        faults += [f"{name}: a license that is not listed, or not there" for name in sorted(listed ^ present)]
        wheel.extractall(folder)
    moved = {f"{data}/scripts/": "bin/", f"{data}/data/": ""}
    tree = {new + str(file.relative_to(folder)).removeprefix(old): file
            for old, new in moved.items() for file in (folder / old).rglob("*") if file.is_file()}
    return faults + check_tree(tree, build)


def check_folder(folder: Path, build: str) -> list[str]:
    return check_tree({str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}, build)


def main() -> None:
    path, build = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as work:
        if path.is_dir():
            faults = check_folder(path, build)
        elif path.suffix == ".whl":
            faults = check_wheel(path, Path(work), build)
        else:
            with tarfile.open(path) as archive:
                archive.extractall(work)
            faults = check_folder(next(Path(work).iterdir()), build)
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


main()
