#!/usr/bin/env bash
# Creates a virtual environment with the Python packages that environments and their tests use, and those that read
# exported files, configure programs or propose trials. The latter are optional: tests are skipped without them.
set -eu
folder=${1:?usage: python.sh FOLDER}
packages=(gymnasium==1.4.0 numpy ale-py==0.12.1 mypy==2.4.1)
readers=(onnxruntime safetensors protobuf absl-py hydra-core optuna cmaes scipy)
alone=(tensorboard) # its reader needs protobuf and absl-py, but no web server
stamp=$folder/packages.txt
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "${packages[*]} ${readers[*]} ${alone[*]}" ]; then exit 0; fi
command -v python3 >/dev/null || { echo "make python needs python3: apt-get install python3-venv" >&2; exit 2; }
python3 -m venv "$folder" ||
  { echo "python3 cannot make a virtual environment: apt-get install python3-venv" >&2; rm -rf "$folder"; exit 2; }
get() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
get "${packages[@]}"
{ get "${readers[@]}" && get --no-deps "${alone[@]}"; } || echo "going on without what reads exported files" >&2
echo "${packages[*]} ${readers[*]} ${alone[*]}" >"$stamp"
