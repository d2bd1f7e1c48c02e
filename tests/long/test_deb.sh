#!/usr/bin/env bash
# `make deb`: the Debian package contains the files of `make install`, depends on the libraries that its programs load,
# passes lintian, and its programs run from where it is unpacked. tests/tools/try_deb.sh does the same in a bare Debian.
# TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
without=
for program in dpkg-buildpackage dh; do command -v $program >/dev/null || without="no $program (apt-get install dpkg-dev debhelper lintian)"; done
[ -n "$without" ] || missing=$(cd "$(mktemp -d "$tap_dir/XXXX")" && cp -r "$OLDPWD/packaging/debian" debian && dpkg-checkbuilddeps 2>&1) || without=$missing
nm -D "$SWEEP_BUILD/lib/libsim.so.1" 2>/dev/null | grep -q __asan_init && without="a build with a sanitizer"
if [ -n "$without" ]; then tap_skip "make deb" "$without"; tap_done; fi
version=$(sed -n 's/^VERSION := //p' Makefile)
if ! make --no-print-directory BUILD="$SWEEP_BUILD" deb >"$tap_dir/out" 2>&1; then tap_result "make deb" 1 "$(tail -20 "$tap_dir/out")"; tap_done; fi
tap_result "make deb" 0
folder=$SWEEP_BUILD/deb
package=$(ls "$folder"/ppo-sweep_*.deb) root=$tap_dir/root
dpkg-deb -x "$package" "$root"
tap_check "it has the files of make install, and Debian's own two" "$(diff <(cd "$folder/installed" && find . ! -type d | sort |
    sed -E 's|site-functions|vendor-completions|; s|(/man1/.*)|\1.gz|; \|/doc/sweep/LICENSE$|d') \
  <(cd "$root" && find . ! -type d | sort | grep -vxE './usr/share/doc/ppo-sweep/(copyright|changelog.Debian.gz)'))"
field() { dpkg-deb -f "$package" "$1"; }
tap_check "its version is the Makefile's; between releases it is older for apt" "$(
  [ "$(field Version)" = "$version-1" ] || { dpkg --compare-versions "$(field Version)" lt "$version-1" && [[ $(field Version) == "$version~git"* ]]; } || field Version)"
tap_check "it depends on the libraries of its programs, and on gnuplot" "$(for name in libc6 libsqlite3-0 libjansson4 libsodium23 gnuplot-nox; do
  grep -qE "(^|, )${name}[ ,]" <<<"$(field Depends)" || echo "not $name: $(field Depends)"; done)"
tap_check "its checksum file is next to it" "$(cd "$folder" && sha256sum --quiet -c ./*.sha256 2>&1)"
if command -v lintian >/dev/null; then
  tap_check "lintian finds no error" "$(grep '^E:' "$folder/lintian.log"; [ -e "$folder/lintian.log" ] || echo "it was not asked")"
else tap_skip "lintian" "not installed"; fi
cd "$tap_dir" || exit 1
export XDG_CONFIG_HOME=$tap_dir/none
unset SWEEP_SITE
for program in sweep trainer analyze; do tap_run "$program from there" 0 "$program $version" "$root/usr/bin/$program" --version; done
export PATH=$root/usr/bin:$PATH
tap_expect "sites from there" 0 'apptainer, cray, gpus' sweep doctor --root "$tap_dir"
tap_run "experiments from there" 0 "runs" sweep plan "$root/usr/share/sweep/experiments/fig8_ddr.ini" --profile demo --root "$tap_dir"
tap_check "a manual page from there" "$(zcat "$root/usr/share/man/man1/sweep-submit.1.gz" | grep -q '^\.TH' || echo "no page")"
tap_done
