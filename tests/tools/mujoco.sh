#!/usr/bin/env bash
# Fetches MuJoCo (library, headers), Gymnasium's models and gymnasium-robotics' Shadow hand into a folder: include/ lib/
# models/ LICENSE.*. All are wheels of PyPI, checked by their hashes and only unpacked: no Python is needed later.
set -eu
folder=${1:?usage: mujoco.sh FOLDER}
version=4.0.0 models=1.4.0 robotics=1.4.2
if [ -e "$folder/lib/libmujoco.so.$version" ] && [ -e "$folder/models/ant.xml" ] && [ -e "$folder/models/hand/robot.xml" ]; then exit 0; fi
command -v pip3 >/dev/null || { echo "make mujoco needs pip: apt-get install python3-pip" >&2; exit 2; }
machine=$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/wheels.txt" <<END
mujoco-core==$version --hash=sha256:885bd9b9cc0a6b5ba1114923eb954027652a6a0c115fa46b3218b83bae72ac4f --hash=sha256:34de0c1674caa95abd3a0214ded4461e688150fbaa015b2db523d553b7411c3b
gymnasium==$models --hash=sha256:1cb947c59e7c72d8eabb2c2274c00cd20948e69f8452a9ef4092223be24fdf0e
gymnasium-robotics==$robotics --hash=sha256:a1743530431cb377e6b3b956d284bc96436fc68bac1648ef205054c178e7dc4b
END
echo "fetching mujoco-core $version, gymnasium $models and gymnasium-robotics $robotics from PyPI"
pip3 download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
  --python-version 3.11 --implementation cp --abi cp311 --abi none \
  --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" --platform any \
  -d "$work" -r "$work/wheels.txt" ||
  { echo "the wheels cannot be had from PyPI; MUJOCO_HOME=/path/to/mujoco takes another MuJoCo" >&2; exit 1; }
for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work/wheels"; done
mkdir -p "$folder"/{include,lib,models}
cp -r "$work/wheels/mujoco/include/mujoco" "$folder/include/"
cp "$work/wheels/mujoco/libmujoco.so.$version" "$folder/lib/"
cp "$work"/wheels/gymnasium/envs/mujoco/assets/*.xml "$folder/models/"
hand=$work/wheels/gymnasium_robotics/envs/assets
mkdir -p "$folder"/models/{hand,stls/hand,textures}
cp "$hand"/hand/{robot,shared_asset}.xml "$folder/models/hand/"
cp "$hand"/stls/hand/*.stl "$folder/models/stls/hand/"
cp "$hand/textures/block.png" "$folder/models/textures/"
cp "$hand/LICENSE.md" "$folder/LICENSE.hand"
cat "$work"/wheels/mujoco_core-*.dist-info/licenses/LICENSE > "$folder/LICENSE.mujoco" 2>/dev/null || true
cat "$work"/wheels/gymnasium_robotics-*.dist-info/licenses/LICENSE > "$folder/LICENSE.gymnasium-robotics"
cat "$work"/wheels/gymnasium-*.dist-info/licenses/LICENSE > "$folder/LICENSE.gymnasium" 2>/dev/null || true
