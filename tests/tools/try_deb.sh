#!/usr/bin/env bash
# Builds the Debian package in a bare, disposable Debian (a container or chroot), installs it, removes everything that
# it does not depend on, and runs the demo's sweep with a very small budget. Usage, as root: tests/tools/try_deb.sh
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ] || command -v gcc >/dev/null; then
  echo "try_deb.sh removes packages, so it runs as root in a bare Debian only: one without a compiler" >&2; exit 2
fi
export DEBIAN_FRONTEND=noninteractive
top=$PWD
section() { sed -n "/^%$1\$/,/^\$/{/^%/d;p}" "$top/packaging/apptainer.def"; } # its shell commands
step() { printf '\n# %s, %d s\n' "$1" $SECONDS; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "what the build needs, as debian/control says"
before=$(apt-mark showmanual)
cp -r packaging/debian "$work/debian"
apt-get update -qq
apt-get build-dep -yqq --no-install-recommends "$work" >/dev/null
apt-get install -yqq --no-install-recommends lintian >/dev/null
step "make deb"
make -j"$(nproc)" deb >"$work/make.log" 2>&1 || { tail -20 "$work/make.log"; exit 1; }
sed -n '/  link/!{/  cc/!{/  pic/!p}}' "$work/make.log"
step "the package alone"
cp build/deb/ppo-sweep_*.deb /var/tmp/ppo-sweep.deb
section post >"$work/post"
sh "$work/post" >/dev/null
apt-mark showmanual | xargs apt-mark auto >/dev/null
# shellcheck disable=SC2086
apt-mark manual ppo-sweep $before >/dev/null
apt-get autoremove --purge -yqq -o APT::AutoRemove::RecommendsImportant=0 -o APT::AutoRemove::SuggestsImportant=0 >/dev/null
if command -v gcc; then echo "the compiler is still there" >&2; exit 1; fi
mv build "$work/build" # nothing of it may be found
dpkg-query -W -f '${Package} ${Version}: ${Installed-Size} KiB installed\n' ppo-sweep
cd "$work"
step "its programs"
section test >"$work/test"
sh "$work/test"
for program in sweep trainer analyze; do [ "$(command -v $program)" = /usr/bin/$program ]; done
step "the demo, small"
sweep submit /usr/share/sweep/experiments/fig8_ddr.ini --profile demo --root demo --local --wait \
  --set train.total_steps=20480 --set eval.count=2 --set eval.episodes=24
sweep status --root demo
analyze ddr-vs-solve demo/results.db
ls demo/figures
[ -s demo/figures/ddr-vs-solve.png ]
step "done"
