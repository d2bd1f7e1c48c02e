# Sourced after cli/tap.sh by tests of Procgen that do not depend on its rendering. When opened, the library reads the
# images of all games; the backgrounds alone, 70 of 850 files, take a second. quick_pictures replaces each of them by a
# small image; test_golden_procgen.sh uses the original ones.
quick_pictures() {
  local data=${PROCGEN_HOME:-$SWEEP_BUILD/procgen}/procgen/data quick=$tap_dir/procgen/procgen/data small large
  [ -d "$data/assets" ] || return 0
  mkdir -p "$quick"
  ln -s "$(realpath "$data/prebuilt")" "$quick/prebuilt"
  cp -rs "$(realpath "$data/assets")" "$quick"
  small=$(realpath "$(find -L "$quick" -name '*.png' -size -2k | sort | head -n 1)")
  find -L "$quick/assets" -name '*.png' -size +20k | while read -r large; do ln -sf "$small" "$large"; done
  export PROCGEN_HOME=$tap_dir/procgen
}
