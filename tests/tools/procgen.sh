#!/usr/bin/env bash
# Fetches Procgen (library and images) into a directory, with the layout of its wheel on PyPI. No Python is needed
# later.
set -eu
folder=${1:?usage: procgen.sh FOLDER}
version=0.10.7
if [ -e "$folder/procgen/data/prebuilt/libenv.so" ] && [ -d "$folder/procgen/data/assets" ]; then exit 0; fi
[ "$(uname -m)" = x86_64 ] || { echo "Procgen's package has a library for x86-64 only" >&2; exit 2; }
command -v pip3 >/dev/null || { echo "make procgen needs pip: apt-get install python3-pip" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "procgen2==$version --hash=sha256:d6dd12c4bfd8fdd7db947d375c6815e242c4cff92d62c7c04ed92b381de62715" >"$work/wheels.txt"
echo "fetching procgen2 $version from PyPI"
pip3 download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --python-version 3.11 \
  --implementation cp --abi cp311 --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
  -d "$work" -r "$work/wheels.txt" ||
  { echo "the wheel cannot be had from PyPI; PROCGEN_HOME=/path/to/it takes another" >&2; exit 1; }
mkdir -p "$folder"
for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work/wheel"; done
cp -r "$work/wheel/procgen2.libs" "$folder/"
mkdir -p "$folder/procgen"
cp -r "$work/wheel/procgen/data" "$folder/procgen/"
cat "$work"/wheel/procgen2-*.dist-info/LICENSE* >"$folder/LICENSE" 2>/dev/null || true
