#!/usr/bin/env bash
# Prints the version of a package: VERSION for a release, else VERSION.devDAY+COMMIT, which pip orders before the release.
# Usage: version.sh VERSION COMMIT DAY [TAG]
set -eu
version=$1 commit=$2 day=$3 tag=${4:-}
[ -n "$tag" ] || tag=$(git tag --points-at HEAD 2>/dev/null | grep -xF "v$version" || echo untagged)
if [ "$tag" != untagged ] && [[ $commit != *+ ]]; then echo "$version"
else echo "$version.dev${day//-/}+${commit//+/.changed}"; fi
