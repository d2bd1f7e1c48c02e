#!/usr/bin/env bash
# Packs OUT/tree and OUT/licenses as OUT/ppo-sweep-VERSION-x86_64.tar.gz; the same tree gives the same bytes.
# Usage: tarball.sh OUT VERSION DAY
set -euo pipefail
out=$(cd "$1" && pwd) name=ppo-sweep-$2-x86_64 day=$3
rm -f "$out"/ppo-sweep-*.tar.gz
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="$day 00:00 UTC" \
  --transform="s|^tree|$name|" --transform="s|^licenses|$name/share/doc/sweep/licenses|" -cf - tree licenses | gzip -n -9 >"$out/tarball.part"
mv "$out/tarball.part" "$out/$name.tar.gz"
echo "$out/$name.tar.gz: $(du -h "$out/$name.tar.gz" | cut -f1), $(du -sh "$out/tree" | cut -f1) unpacked"
