#!/usr/bin/env bash
# `make dist`: identical bytes from every clone, and a tarball with its commit. The version is defined in one place. The
# recipes for Spack and Apptainer agree with the makefiles; Apptainer's is built if apptainer is installed. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
top=$PWD version=$(sed -n 's/^VERSION := //p' Makefile)
export GIT_CONFIG_GLOBAL=$tap_dir/gitconfig
git config --global user.name test; git config --global user.email test@invalid.invalid

# ---- the tarball
dist() { make --no-print-directory -C "$1" BUILD="$tap_dir/$1.out" dist "${@:2}" 2>&1; }
if [ -z "$(git rev-parse --show-cdup 2>/dev/null || echo none)" ]; then
  git clone -q "$top" "$tap_dir/one"
  git diff --binary HEAD >"$tap_dir/diff"
  cd "$tap_dir" || exit 1
  [ ! -s diff ] || { git -C one apply ../diff; git -C one commit -qam "what has changed here"; }
  git clone -q one two
  find two -name '*.md' -exec touch -d 2001-01-01 {} +
  tap_result "make dist" "$(dist one >out; echo $?)" "$(cat out)"
  commit=$(git -C one rev-parse HEAD | cut -c -7) name=sweep-$version-$(git -C one rev-parse HEAD | cut -c -7)
  git config --global core.autocrlf true; git config --global tar.umask 0077; git config --global core.abbrev 12
  tap_result "make dist elsewhere" "$(umask 077; TZ=Asia/Tokyo dist two >out; echo $?)" "$(cat out)"
  tap_check "two clones give the same bytes, with any user settings" "$(cmp "one.out/dist/$name.tar.gz" "two.out/dist/$name.tar.gz" 2>&1)"
  tap_check "its checksum file is next to it" "$(cd one.out/dist && sha256sum --quiet -c "$name.tar.gz.sha256" 2>&1; ls | grep -vxE "$name.tar.gz(.sha256)?")"
  tar -xzf "one.out/dist/$name.tar.gz"
  tap_check "it has the commit's files, and where they come from" "$(diff <(cd "$name" && find . -type f | sort) \
    <(cd one && { git ls-files; echo commit.txt; } | sed 's|^|./|' | sort); diff -r -x .git -x commit.txt "$name" one)"
  tap_check "they are root's, and others may read them" "$(tar -tvzf "one.out/dist/$name.tar.gz" | grep -vE '^[d-]rw[x-]r-[x-]r-[x-] root/root ')"
  tap_check "unpacked, make knows the commit" "$(make -s -C "$name" BUILD="$tap_dir/none" info 2>&1 | grep -qxF "sweep $version commit $commit" || make -s -C "$name" info)"
  tap_check "unpacked, the programs show it" "$(make -C "$name" BUILD="$tap_dir/built" "$tap_dir/built/obj/core/version.o" 2>&1 >out || cat out
    strings built/obj/core/version.o | grep -qxF "$commit" || echo "no $commit in version.o")"
  tap_run "unpacked, tests that need git are left out" 0 "# SKIP a tarball" bash "$name/tests/tools/test_tree.sh"
  tap_run "a tarball makes none" 2 "a tarball is made of a commit" dist "$name"
  git -C one tag "v$version"
  tap_run "a release" 0 "sweep-$version.tar.gz" dist one
  tap_check "carries its version alone" "$(ls one.out/dist | diff - <(printf '%s\n' "sweep-$version.tar.gz" "sweep-$version.tar.gz.sha256"))"
  echo more >>one/README.md
  tap_run "a changed file is no commit's" 2 " M README.md" dist one
  tap_run "a version that is none" 2 "must be three numbers" dist two VERSION=0.2
else tap_skip "make dist" "this is no clone of the repository"; fi

# ---- one version
cd "$top" || exit 1
tap_check "the changes' first heading is the Makefile's VERSION" "$(grep -m1 '^## ' CHANGELOG.md | grep -E "^## $version( |$)" >/dev/null || grep -m1 '^## ' CHANGELOG.md)"
tap_check "so is the Python package's" "$(grep -q "^__version__ = \"$version\" " python/sweepdb/__init__.py || grep '^__version__' python/sweepdb/__init__.py)"
for program in sweep trainer analyze; do tap_run "and $program's" 0 "$program $version (commit " "$program" --version; done

# ---- libraries that are not there
lacking() { # HEADER: the check on a machine without it
  printf '#!/bin/sh\ninput=$(cat)\ncase $input in *"<%s>"*) exit 1 ;; esac\nprintf "%%s\\n" "$input" | gcc "$@"\n' "$1" >"$tap_dir/lacking"
  chmod +x "$tap_dir/lacking"
  (mkdir -p "$tap_dir/empty" && cd "$tap_dir/empty" && rm -rf build && CC=$tap_dir/lacking bash "$top/tests/tools/dependencies.sh" check)
}
tap_run "a build works without oneDNN, with a note" 0 "building without libdnnl-dev" lacking oneapi/dnnl/dnnl.h
tap_run "without SQLite there is none" 1 "apt-get install libsqlite3-dev" lacking sqlite3.h

# ---- recipes
tap_check "Debian: the build dependencies are those of dependencies.sh" "$(comm -23 \
  <({ sed -nE 's/^ *"(needed|wanted):[^|]*\|([^|]*)\|.*/\2/p' tests/tools/dependencies.sh | tr ' ' '\n'; echo libopenmpi-dev; } | sort) \
  <(sed -n '/^Build-Depends:/,/^$/p' packaging/debian/control | grep -oE '[a-z0-9][a-z0-9.+-]+' | sort))"
if command -v python3 >/dev/null; then
  out=$(PYTHONDONTWRITEBYTECODE=1 python3 tests/tools/spack_recipe.py "$top" 2>&1)
  while IFS=$'\t' read -r name problem; do [ "$name" = end ] || tap_check "Spack: $name" "$problem"; done <<<"$out"
  tap_check "Spack: the checks come to their end" "$([ "$(tail -1 <<<"$out" | cut -f1)" = end ] || tail -5 <<<"$out")"
else tap_skip "Spack" "no python3"; fi
section() { sed -n "/^%$1\$/,/^\$/{/^%/d;p}" packaging/apptainer.def; }
for name in post environment runscript test; do
  tap_check "Apptainer: %$name is shell" "$([ -n "$(section $name)" ] || echo empty; section $name | sh -n 2>&1)"
done
tap_check "Apptainer: its test passes here" "$(cd "$tap_dir" && section() { sed -n "/^%$1\$/,/^\$/{/^%/d;p}" "$top/packaging/apptainer.def"; }
  section test >check.sh; sh check.sh >out 2>&1 || tail -5 out)"
if ! command -v apptainer >/dev/null; then tap_skip "Apptainer: the image is built" "no apptainer"
elif ! ls "$SWEEP_BUILD"/deb/ppo-sweep_*.deb >/dev/null 2>&1; then tap_skip "Apptainer: the image is built" "no package (make deb)"
else
  mkdir -p "$tap_dir/image/build"; cp -r "$SWEEP_BUILD/deb" "$tap_dir/image/build/"
  tap_run "Apptainer: the image is built" 0 "" env -C "$tap_dir/image" apptainer build --fakeroot sweep.sif "$top/packaging/apptainer.def"
  tap_run "Apptainer: it has the programs" 0 "sweep $version" apptainer exec "$tap_dir/image/sweep.sif" sweep --version
fi
tap_done
