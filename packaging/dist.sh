#!/usr/bin/env bash
# Packs the commit at hand as FOLDER/sweep-VERSION.tar.gz, with its checksum beside it. Between two releases the commit is
# part of the name. The same commit gives the same bytes in every clone, on every day and for every user: times are the
# commit's, owners root, modes without the umask. Usage: packaging/dist.sh VERSION FOLDER
set -euo pipefail
version=${1:?usage: packaging/dist.sh VERSION FOLDER} folder=${2:?usage: packaging/dist.sh VERSION FOLDER}
fail() { echo "make dist: $*" >&2; exit 2; }
cd "$(dirname "$0")/.."
[[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] ||
  fail "VERSION is '$version' in the Makefile; it must be three numbers, as 1.2.3 (semver.org)"
place=$(git rev-parse --show-cdup 2>/dev/null) && [ -z "$place" ] ||
  fail "this is no clone of the repository, and a tarball is made of a commit; git clone it"
changed=$(git status --porcelain)
[ -z "$changed" ] || fail "these files are not as in the commit that would be packed; commit or remove them:
$changed"
commit=$(git rev-parse HEAD | cut -c -7) day=$(git log -1 --format=%cs)
tag=$(git tag --points-at HEAD | grep -xF "v$version" || echo untagged)
name=sweep-$version
[ "$tag" != untagged ] || name+=-$commit
mkdir -p "$folder"
rm -f "$folder"/sweep-*.tar.gz*
trap 'rm -f "$folder/commit.txt" "$folder/part"' EXIT
printf '%s %s %s\n' "$commit" "$day" "$tag" >"$folder/commit.txt"
# In the tarball the Makefile reads commit.txt, where here it asks git.
git -c tar.umask=0022 -c core.autocrlf=false -c core.attributesFile=/dev/null archive --format=tar --prefix="$name/" \
  --add-file="$folder/commit.txt" HEAD | gzip -n -9 >"$folder/part"
mv "$folder/part" "$folder/$name.tar.gz"
(cd "$folder" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
