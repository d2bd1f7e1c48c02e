#!/usr/bin/env bash
# `make install` into an empty prefix works without the source tree: sites, experiments, manual pages, completions,
# docs; then `make uninstall`, which keeps foreign files. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
tree=$PWD stage=$tap_dir/stage prefix=/opt/sweep here=$tap_dir/stage/opt/sweep
install_or() { make --no-print-directory BUILD="$SWEEP_BUILD" PREFIX=$prefix DESTDIR="$stage" "$1" 2>&1; }
if ! out=$(install_or install); then tap_result "make install" 1 "$(tail -5 <<<"$out")"; tap_done; fi
tap_result "make install" 0
tap_check "everything lies below DESTDIR and PREFIX" "$(find "$stage" -mindepth 1 -maxdepth 3 ! -path "$here*" ! -path "$stage/opt"
  ls -d $prefix 2>/dev/null)"
same() { # name, folder of the tree, files, folder of the installation
  tap_check "$1" "$(cd "$tree/$2" && for f in $3; do cmp "$f" "$here/$4/$f" 2>&1; done)"
}
same "sites" slurm/sites "$(cd slurm/sites && echo *.ini)" share/sweep/sites
same "experiments" experiments "$(cd experiments && find . -name '*.ini')" share/sweep/experiments
same "docs" . "README.md CHANGELOG.md LICENSE $(find docs -type f)" share/doc/sweep
tap_check "no directories are created for absent files" "$(find "$here" -empty; ls -d "$here/share/sweep/workers" 2>/dev/null)"
export PATH=$here/bin:$PATH SWEEP_ROOT=$tap_dir/work XDG_CONFIG_HOME=$tap_dir/none
mkdir -p "$SWEEP_ROOT"; cd "$tap_dir" || exit 1
for p in sweep trainer analyze; do
  problems=
  for c in $("$p" help | sed -n '/^Commands:/,/^$/p' | sed -nE 's/^  ([a-z0-9-]+)( .*|$)/\1/p'); do
    [ -s "$here/share/man/man1/$p-$c.1" ] || problems+="no $p-$c.1"$'\n'
  done
  [ -s "$here/share/man/man1/$p.1" ] || problems+="no $p.1"$'\n'
  cmp <("$p" --completion bash) "$here/share/bash-completion/completions/$p" || problems+="bash"$'\n'
  cmp <("$p" --completion zsh) "$here/share/zsh/site-functions/_$p" || problems+="zsh"$'\n'
  cmp <("$p" --completion fish) "$here/share/fish/vendor_completions.d/$p.fish" || problems+="fish"$'\n'
  tap_check "$p: manual pages and completions" "$problems"
done
if command -v man >/dev/null; then
  tap_run "man finds them" 0 "sweep submit FILE|NAME" env MANPATH="$here/share/man" MANPAGER=cat PAGER=cat man sweep-submit
else tap_skip "man" "not installed"; fi

# ---- sites and experiments from there ----
unset SWEEP_SITE
tap_expect "sweep doctor names the sites" 0 'apptainer, cray, gpus' sweep doctor
cat >one.ini <<<$'[sweep]\nname = one\n[train]\ntotal_steps = 1M\n[slurm]\ngpus_per_run = 1\ntime = 01:00:00'
tap_run "an installed site" 0 "#SBATCH --gpus-per-node=1" env SWEEP_SITE=gpus sweep plan one.ini --script 0
tap_run "without it" 0 "#SBATCH --gres=gpu:1" env SWEEP_SITE=none sweep plan one.ini --script 0
tap_run "a site that there is not" 2 "unknown site 'gpsu'; installed sites: apptainer" env SWEEP_SITE=gpsu sweep plan one.ini --script 0
tap_run "an installed experiment" 0 "runs" sweep plan "$here/share/sweep/experiments/fig8_ddr.ini" --profile demo

# ---- and away again ----
cd "$tree" || exit 1
echo mine >"$here/share/sweep/sites/mine.ini"
echo other >"$here/share/man/man1/other.1"
tap_result "make uninstall" "$(install_or uninstall >"$tap_dir/out"; echo $?)" "$(cat "$tap_dir/out")"
tap_check "none of our files is left, and foreign files stay" "$(diff <(cd "$here" && find . -type f | sort) \
  <(printf '%s\n' ./share/man/man1/other.1 ./share/sweep/sites/mine.ini))"
tap_result "make uninstall where nothing is" "$(install_or uninstall >"$tap_dir/out"; echo $?)" "$(cat "$tap_dir/out")"
tap_done
