# Sourced after cli/tap.sh by tests of Procgen that do not mind what its worlds look like. Its library reads all pictures
# of all games whenever a process opens it, and takes a second for the backgrounds alone: 70 of 850 files.
# quick_pictures: from now on a small picture stands for each of those. test_golden_procgen.sh looks at the true ones.
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
