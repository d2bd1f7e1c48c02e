#!/usr/bin/env bash
# A compiler for old systems in OUT: this machine's gcc, with headers and symbol versions of glibc 2.28, which Zig's
# package brings. So programs have the code of the ordinary build, and run on RHEL 8, Debian 10, Ubuntu 18.10 and later.
# Usage: toolchain.sh OUT
#   OUT/bin/gcc         compiles and links C, and C++ for nvcc, against that glibc and the libraries of OUT/prefix
#   OUT/bin/pkg-config  knows only what libraries.sh built
#   OUT/wheels/         the unpacked packages of requirements.txt
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: toolchain.sh OUT}" && out=$(cd "$1" && pwd)
glibc=2.28
stamp=$out/toolchain.stamp
if [ "$stamp" -nt "$0" ] && [ "$stamp" -nt "$here/requirements.txt" ]; then exit 0; fi
[ "$(uname -m)" = x86_64 ] || { echo "portable programs are built on x86-64 only" >&2; exit 2; }

rm -rf "$out/wheels" "$out/glibc" "$out/bin"
mkdir -p "$out/wheels" "$out/glibc/lib" "$out/glibc/include" "$out/bin"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "  fetch    $(grep -o '^[a-z-]*==[0-9.]*' "$here/requirements.txt" | tr '\n' ' ')"
pip3 download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --python-version 3.11 \
  --implementation cp --abi cp311 --abi none $(printf ' --platform %s' manylinux1_x86_64 manylinux2010_x86_64 \
  manylinux_2_12_x86_64 manylinux2014_x86_64 manylinux_2_28_x86_64 any) -d "$work" -r "$here/requirements.txt"
for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$out/wheels"; done
zig=$out/wheels/ziglang
chmod +x "$zig/zig"

# A program linked by Zig leaves the stubs of glibc's libraries and its start files in Zig's cache. The first link makes
# them; the second says where they are.
link() {
  echo "int main(void) { return $1; }" >"$work/main.c"
  ZIG_VERBOSE_LINK=1 ZIG_GLOBAL_CACHE_DIR="$work/cache" ZIG_LOCAL_CACHE_DIR="$work/cache" "$zig/zig" cc \
    -target "x86_64-linux-gnu.$glibc" -fPIE -pie -o "$work/main" "$work/main.c" -lm -lpthread -ldl -lrt -lutil 2>&1
}
link 0 >"$work/log" || { cat "$work/log" >&2; exit 1; }
link 1 | tr ' ' '\n' | grep "^$work/cache/.*/\(Scrt1\.o\|crt[in]\.o\|lib[a-z]*\.so\.[0-9]\|libc_nonshared\.a\)$" |
  sort -u | xargs cp -t "$out/glibc/lib"
cd "$out/glibc/lib"
mv libld.so.2 ld-linux-x86-64.so.2
for name in m pthread dl rt util resolv; do ln -s lib$name.so.? lib$name.so; done
echo "GROUP ( $PWD/libc.so.6 $PWD/libc_nonshared.a AS_NEEDED ( $PWD/ld-linux-x86-64.so.2 ) )" >libc.so
for folder in any-linux-any x86-linux-any generic-glibc x86_64-linux-gnu; do
  cp -r "$zig/lib/libc/include/$folder/." "$out/glibc/include/"
done
"$here/aliases.py" "$out/glibc/lib/libc.so.6"
# Declarations of what came later would meet the replacements that libraries bring.
sed -i '/^extern .*arc4random/,/;/d' "$out/glibc/include/stdlib.h"
rm -rf "$out/wheels"/ziglang*

# gcc's own headers come first, as always. Only C++ needs the headers of libstdc++, whose ABI is older than gcc 8's.
cat >"$out/bin/gcc" <<WRAPPER
#!/bin/sh
cxx=
for argument; do case \$argument in c++|*.cpp|*.cc|*.cu) cxx=1 ;; esac; done
[ -z "\$cxx" ] || set -- $(g++ -E -x c++ -v /dev/null 2>&1 | sed -n '/#include </,/End of/s|^ \(.*c++/.*\)|-isystem \1|p' |
  tr '\n' ' ')"\$@"
exec gcc -nostdinc -D__GLIBC_MINOR__=${glibc#*.} "\$@" -isystem $out/prefix/include \\
  -isystem $(gcc -print-file-name=include) -isystem $out/glibc/include \\
  -B$out/glibc/lib -L$out/prefix/lib -L$out/glibc/lib -Wl,--allow-shlib-undefined
WRAPPER
cat >"$out/bin/pkg-config" <<WRAPPER
#!/bin/sh
PKG_CONFIG_LIBDIR=$out/prefix/lib/pkgconfig exec pkg-config --static "\$@"
WRAPPER
chmod +x "$out"/bin/*
touch "$stamp"
