#!/usr/bin/env bash
# Makes FOLDER/ppo-sweep_VERSION_ARCH.deb of FOLDER/installed, where `make install` has put everything, by debhelper and
# packaging/debian. Between two releases the version is VERSION~gitDAY.COMMIT, which apt takes for older than VERSION.
# Where lintian is installed, the package must pass without errors.
# Usage: packaging/deb.sh VERSION COMMIT DAY FOLDER [TAG]     make deb calls it
set -euo pipefail
version=$1 commit=$2 day=$3 folder=$(cd "$4" && pwd) tag=${5:-}
cd "$(dirname "$0")/.."
for program in dpkg-buildpackage dh; do
  command -v "$program" >/dev/null && continue
  echo "make deb: there is no $program; on Debian or Ubuntu: apt-get install dpkg-dev debhelper lintian" >&2
  exit 2
done
[ -n "$tag" ] || tag=$(git tag --points-at HEAD 2>/dev/null | grep -xF "v$version" || echo untagged)
full=$version
[ "$tag" != untagged ] && [[ $commit != *+ ]] || full+="~git${day//-/}.${commit//+/.changed}"
source=$folder/ppo-sweep-$version
mkdir "$source"
cp -r packaging/debian "$source/debian"
cat >"$source/debian/changelog" <<END
ppo-sweep ($full-1) unstable; urgency=medium

  * Version $version, commit $commit.
    /usr/share/doc/sweep/CHANGELOG.md says what is new.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -uRd "$day")
END
# The build's own make would read what this one was told (BUILD, -j).
unset MAKEFLAGS MAKELEVEL MFLAGS
log=$folder/dpkg-buildpackage.log
if ! (cd "$source" && INSTALLED="$folder/installed" DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-noautodbgsym}" \
  dpkg-buildpackage --build=binary --no-sign >"$log" 2>&1); then
  tail -20 "$log" >&2
  echo "make deb: dpkg-buildpackage failed; all it said is in $log" >&2
  exit 1
fi
package=$(ls "$folder"/ppo-sweep_*.deb)
if command -v lintian >/dev/null; then lintian --allow-root --fail-on error "$package" | tee "$folder/lintian.log"
else echo "going on without lintian: apt-get install lintian" >&2; fi
(cd "$folder" && sha256sum "${package##*/}" | tee "${package##*/}.sha256")
ls -lh "$package"
