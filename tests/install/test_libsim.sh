#!/usr/bin/env bash
# libsim as users get it: installed into a separate prefix, with the example built against that prefix only, by every
# compiler and language that the header supports, with the shared library and the archive; the worlds must have the
# pinned hash. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
hash='world hash 0xe00d01346ede64ad'
prefix=$tap_dir/usr source=$PWD/docs/examples/libsim.c
if ! out=$(make --no-print-directory BUILD="$SWEEP_BUILD" PREFIX="$prefix" install-lib 2>&1); then
  tap_result "make install-lib" 1 "$out"; tap_done
fi
tap_result "make install-lib" 0
so=$(readlink -f "$prefix/lib/libsim.so")
if nm -D "$so" | grep -q __asan_init; then tap_skip "libsim" "built with a sanitizer"; tap_done; fi
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib OMP_NUM_THREADS=2
cd "$tap_dir" || exit 1
cp "$source" example.c

expect() { tap_result "$1" "$([ "$2" = "$3" ]; echo $?)" "'$2' is not '$3'"; }
expect "only the header, the library and sim.pc are installed" "$(cd "$prefix" && find . ! -type d | sort | xargs)" \
  "./include/sim/sim.h ./lib/libsim.a ./lib/libsim.so ./lib/libsim.so.1 ./lib/pkgconfig/sim.pc"

# ---- exported symbols ----
declared=$(grep -oE '\blibsim_[a-z0-9_]+\(' "$prefix/include/sim/sim.h" | tr -d '(' | sort -u)
expect "the shared library shows what the header declares, nothing else" \
  "$(nm -D --defined-only "$so" | awk '{ print $3 }' | sort -u)" "$declared"
expect "so does the archive" "$(nm -g --defined-only "$prefix/lib/libsim.a" | awk 'NF == 3 { print $3 }' | sort -u)" "$declared"
needed() { readelf -d "$so" | sed -nE "s/.*\($1\).*\[(.*)\]/\1/p" | sort | xargs; }
expect "its soname has the version of the interface" "$(needed SONAME)" libsim.so.1
others=$(needed NEEDED | tr ' ' '\n' | grep -vE '^(libc|libm|libjansson|libgomp|libomp|libpthread|ld-linux.*)\.so' | xargs)
expect "it needs no library but jansson's, OpenMP's and C's" "$others" ""
expect "the header includes standard headers only" "$(grep '#include' "$prefix/include/sim/sim.h" | xargs)" \
  "#include <stddef.h> #include <stdint.h>"

# ---- the example ----
flags=$(pkg-config --cflags --libs sim)
build_and_run() { # name, libraries, compiler and its flags
  local name=$1 libraries=$2; shift 2
  command -v "$1" >/dev/null || { tap_skip "$name" "no $1"; return; }
  rm -f example
  # shellcheck disable=SC2086
  tap_run "$name: compiles without a warning" 0 "" "$@" -Wall -Wextra -pedantic -Werror example.c -o example $libraries
  tap_run "$name: the pinned hash" 0 "$hash" ./example
}
for c in "gcc -std=c11" "gcc -std=c17" "clang -std=c17" "g++ -x c++ -std=c++17" "clang++ -x c++ -std=c++17"; do
  # shellcheck disable=SC2086
  build_and_run "$c" "$flags" $c
done
expect "the example is one page" "$(($(wc -l <example.c) <= 80))" 1
archive="-I$prefix/include $prefix/lib/libsim.a -ljansson -fopenmp -lm"
if readelf -d "$so" | grep -q libomp; then compiler=clang; else compiler=gcc; fi # the compiler whose OpenMP it was built for
build_and_run "the archive" "$archive" $compiler
expect "a program with the archive needs no libsim.so" "$(readelf -d example | grep -c 'NEEDED.*libsim')" 0
tap_run "one thread" 0 "$hash" env OMP_NUM_THREADS=1 ./example
tap_run "scalar kernels" 0 "$hash" env SIM_KERNELS=scalar ./example
tap_run "a picture" 0 "$hash" ./example "" picture.svg
tap_result "is an SVG" "$(head -c 200 picture.svg | grep -q '<svg '; echo $?)" "$(head -c 200 picture.svg)"
tap_run "a level file" 0 "1 levels, 64 worlds, 140 features" ./example "${source%/docs/*}/tests/fuzz/corpus/level/good.json"
tap_run "a wrong level file: file and place" 2 "bad-index.json: env_state.joint[0].b_index: 7 is not a shape, expected 0..6" \
  ./example "${source%/docs/*}/tests/fuzz/corpus/level/bad-index.json"
tap_done
