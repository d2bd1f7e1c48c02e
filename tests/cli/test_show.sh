#!/usr/bin/env bash
# trainer show, play and check-level: files of the right type and size, errors with reasons and exit codes. TAP.
set -u
data=$(cd ../shared/data/kinetix_levels 2>/dev/null && pwd)
source tests/cli/tap.sh
cd "$tap_dir"
hex() { od -An -v -tx1 -j"$2" -N"$3" "$1" | tr -d ' \n'; }              # file, offset, bytes
png_size() { echo "$((16#$(hex "$1" 16 4)))x$((16#$(hex "$1" 20 4)))"; }
gif_size() { local h; h=$(hex "$1" 6 4); echo "$((16#${h:2:2}${h:0:2}))x$((16#${h:6:2}${h:4:2}))"; }
expect_equal() { tap_check "$1" "$([ "$2" = "$3" ] || echo "$2 instead of $3")"; }

# ---- a level file by hand: size S, a green disc, a blue box ----
pair() { printf '"%s":{"0":%s,"1":%s}' "$1" "$2" "$3"; }
shape() { # x y inverse_mass active role radius half_x half_y
  printf '{%s,"rotation":0,%s,"angular_velocity":0,"inverse_mass":%s,"inverse_inertia":%s,"friction":1,"restitution":0,' \
    "$(pair position "$1" "$2")" "$(pair velocity 0 0)" "$3" "$3"
  printf '"collision_mode":1,"active":%s,"n_vertices":4,"radius":%s,"role":%s,"density":1,"vertices":{%s,%s,%s,%s}}' \
    "$4" "$6" "$5" "$(pair 0 "-$7" "$8")" "$(pair 1 "$7" "$8")" "$(pair 2 "$7" "-$8")" "$(pair 3 "-$7" "-$8")"
}
level() { # role of the disc
  local box; box=$(shape 4 1 1 true 2 0 0.3 0.3)
  printf '{"static_env_params":{"num_polygons":5,"num_circles":2,"num_joints":1,"num_thrusters":1,"max_polygon_vertices":4,'
  printf '"num_static_fixated_polys":4,"num_motor_bindings":4,"num_thruster_bindings":2},"env_state":{"polygon":['
  printf '%s,%s,%s,%s,%s],' "$(shape 2.5 -4.8 0 true 0 0 2.5 5.2)" "$(shape -2.5 2.5 0 true 0 0 2.5 2.5)" \
    "$(shape 7.5 2.5 0 true 0 0 2.5 2.5)" "$(shape 2.5 10.2 0 true 0 0 2.5 5.2)" "$box"
  printf '"circle":[%s,%s],"joint":[{"a_index":0,"b_index":0,%s,%s,%s,"active":false,"motor_speed":0,"motor_power":0,' \
    "$(shape 1 1 1 true "$1" 0.4 1 1)" "$(shape 0 0 1 false 0 0.4 1 1)" "$(pair a_relative_pos 0 0)" \
    "$(pair b_relative_pos 0 0)" "$(pair global_position 0 0)"
  printf '"motor_on":false,"motor_has_joint_limits":false,"min_rotation":0,"max_rotation":0,"is_fixed_joint":false,'
  printf '"rotation":0,"motor_binding":0}],"thruster":[{"object_index":0,%s,"rotation":0,"power":0,%s,"active":false,' \
    "$(pair relative_position 0 0)" "$(pair global_position 0 0)"
  printf '"thruster_binding":0}]}}\n'
}
level 1 >good.json
level 0 >dull.json
sed 's/"role":1/"role":7/' good.json >role.json
head -c 300 good.json >cut.json

# ---- check-level ----
tap_run "check-level prints the contents of a level" 0 "good.json: ok: 2 bodies (0 fixated; 1 green, 1 blue" trainer check-level good.json
tap_run "check-level notes a level that cannot be solved" 0 "no shape is green" trainer check-level dull.json
tap_run "check-level names file and place" 2 "role.json: env_state.circle[0].role: 7" trainer check-level role.json
tap_run "check-level counts wrong files and reads on" 2 "2 of 3 level files are invalid" trainer check-level role.json good.json cut.json
tap_check "check-level prints the good among the wrong" "$(trainer check-level role.json good.json cut.json 2>/dev/null | grep -c ': ok:' | grep -vx 1)"
tap_run "check-level: truncated JSON, with its line" 2 "cut.json:1:" trainer check-level cut.json
tap_run "check-level: no such file" 2 "absent.json" trainer check-level absent.json
mkdir folder.json
tap_run "check-level: a folder" 2 "folder.json: not a file" trainer check-level folder.json
tap_run "check-level without files" 2 "name the level files" trainer check-level
tap_run "check-level --help" 0 "code 2 if a file is invalid" trainer check-level --help
if [ -n "$data" ]; then
  expect_equal "check-level: the 74 public levels are good" "$(trainer check-level "$data"/*/*.json | grep -c ': ok:')" 74
else
  tap_skip "check-level: the public levels" "no ../shared/data"
fi

# ---- show: SVG always works ----
tap_run "show draws an .svg" 0 "a.svg: 500 x 500" trainer show loco512/17 -o a.svg
tap_run "show draws a random level" 0 "random.svg: 500 x 500" trainer show random_l/200 -o random.svg
tap_run "show draws a sheet of them" 0 "64 of 128 levels" trainer show random_m --sheet 8x8 --size 40 -o random.svg
tap_run "show draws 8x8 of loco512" 0 "64 of 512 levels" trainer show --sheet 8x8 loco512 --size 40 -o loco.svg
expect_equal "each in its own cell" "$(grep -c 'public-0' loco.svg)" 64
tap_run "show draws shuffled slots" 0 "permuted.svg: 500" trainer show good.permute4.json -o permuted.svg
tap_run "show: a random level too far" 2 "0 to 65535" trainer show random_s/65536 -o far.svg
tap_run "show: Kinetix' lists need their files" 2 "env.level_folder" trainer show kinetix_m -o list.svg
if [ -n "$data" ]; then
  tap_run "show draws a list of them" 0 "24 of 24 levels" trainer show kinetix_m --levels "$data" -o list.svg
else
  tap_skip "show draws a list of them" "no ../shared/data"
fi
tap_run "show draws a level file" 0 "file.svg: 300 x 300" trainer show good.json -o file.svg --size 300
tap_run "show draws a sheet of a set" 0 "8 of 512 levels" trainer show loco512 --sheet 4x2 -o sheet.svg
tap_run "show chooses a sheet by itself" 0 "64 of 512 levels" trainer show all -o auto.svg
tap_run "show continues within the set" 0 "2 of 512 levels" trainer show all --from 510 -o from.svg
tap_run "show draws one of some families" 0 "one.svg: 500 x 500" trainer show car+tree/3 -o one.svg
mkdir 'odd & "names"' && cp good.json 'odd & "names"/fine.json' && cp dull.json 'odd & "names"/other.json'
tap_run "show takes a folder with an odd name" 0 "2 of 2 levels" trainer show 'odd & "names"' -o 'odd & "names"/<x>.svg'
tap_run "show finds a level by number in a folder" 0 "500 x 500" trainer show 'odd & "names"/1' -o number.svg
if command -v xmllint >/dev/null; then
  tap_check "all .svg files are well-formed XML" "$(xmllint --noout ./*.svg odd*/*.svg 2>&1 | head -5)"
else
  tap_skip "all .svg files are well-formed XML" "no xmllint"
fi
tap_check "a sheet's cells are labeled" "$(for name in public-000 public-007; do grep -q ">[0-7] $name<" sheet.svg || echo "no $name"; done)"
tap_check "the same command draws the same bytes" "$(trainer show loco512/17 -o again.svg >/dev/null; cmp a.svg again.svg 2>&1)"
trainer show car/0 --steps 20 -o stood.svg >/dev/null; trainer show car/0 --steps 20 --random --seed 1 -o drove.svg >/dev/null
tap_check "steps and actions change the image" "$(trainer show car/0 -o start.svg >/dev/null
  [ -s start.svg ] && [ -s stood.svg ] && [ -s drove.svg ] || echo 'a picture is missing'
  cmp -s start.svg stood.svg && echo 'start = after 20 steps'; cmp -s stood.svg drove.svg && echo 'nothing = random actions')"

tap_run "show: unknown set, nearest named" 2 "did you mean loco512" trainer show loco51 -o x.svg
tap_run "show: unknown family" 2 "did you mean 'tree'" trainer show car+tre -o x.svg
tap_run "show: a number past the set" 2 "levels are 0 to 511" trainer show loco512/512 -o x.svg
tap_run "show: a number past all numbers" 2 "out of range" trainer show loco512/99999999999999999999 -o x.svg
tap_run "show: no such file" 2 "absent.json" trainer show absent.json -o x.svg
tap_run "show: a wrong level file" 2 "env_state.circle[0].role" trainer show role.json -o x.svg
tap_run "show: another kind of picture" 2 ".png, .gif, .mp4 or .svg" trainer show good.json -o x.jpg
tap_run "show: a sheet that is none" 2 "COLUMNSxROWS" trainer show loco512 --sheet 8 -o x.svg
tap_run "show: a sheet of nothing" 2 "COLUMNSxROWS" trainer show loco512 --sheet 0x3 -o x.svg
tap_run "show: too large" 2 "at most 8192" trainer show loco512 --sheet 9x9 --size 2000 -o x.svg
tap_run "show: too small" 2 "--size 3" trainer show good.json --size 3 -o x.svg
tap_run "show: steps backwards" 2 "--steps -4" trainer show good.json --steps=-4 -o x.svg
tap_run "show: past the set's end" 2 "--from 512" trainer show loco512 --from 512 -o x.svg
tap_run "show: no level" 2 "name one level" trainer show -o x.svg
tap_run "show: two levels" 2 "unexpected argument \"dull.json\"" trainer show good.json dull.json -o x.svg
tap_run "show: a folder that is not there" 1 "nowhere" trainer show good.json -o nowhere/x.svg
tap_run "show --help" 0 "green must touch blue" trainer show --help
tap_check "failed commands leave nothing behind" "$(ls x.* nowhere 2>/dev/null)"

# ---- pixels ----
if trainer show good.json -o a.png >out 2>&1; then
  expect_equal "show draws a .png" "$(hex a.png 0 8) $(png_size a.png)" "89504e470d0a1a0a 500x500"
  trainer show loco512 --sheet 4x2 --size 80 -o sheet.png >/dev/null
  expect_equal "a sheet has its cells' size" "$(png_size sheet.png)" "360x216"
  tap_run "show moves in a .gif" 0 "7 frames" trainer show car/1 --random --steps 6 --size 64 -o a.gif
  expect_equal "of the size asked for" "$(hex a.gif 0 6) $(gif_size a.gif)" "474946383961 64x64"
  tap_run "a whole sheet moves" 0 "4 of 512 levels, 4 frames" trainer show all --sheet 2x2 --steps 3 --size 40 -o many.gif
  tap_check "an unmoved world is no less of a film" "$(trainer show good.json --steps 0 -o still.gif 2>&1 | grep -v '1 frames')"
  tap_check "without -o it is level.png" "$(trainer show good.json >/dev/null; [ -s level.png ] || echo 'no level.png')"
else
  tap_check "without libgd the way out is named" "$(grep -q 'choose .svg' out || cat out)"
  tap_skip "pictures of pixels" "built without libgd"
fi

# ---- play: a policy that two iterations made ----
small=(--set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8 --set ppo.num_steps=16
  --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.count=0
  --set train.threads=1 --set train.total_steps=256)
tap_run "a run to look at" 0 "" trainer "${small[@]}" --quiet
run=$(basename runs/*/*)
ckpt=runs/${run:0:2}/$run/ckpt/iteration-000000000002.ckpt
before=$(cd "runs/${run:0:2}/$run" && find . -type f -exec cksum {} + | sort)
tap_run "play shows a run's policy" 0 "after iteration 2" trainer play --checkpoint "$run" --level 1 --steps 5 -o p.svg
tap_run "play takes a checkpoint file" 0 "run $run after iteration 2" trainer play -c "$ckpt" -l 1 -n 5 -o q.svg
tap_check "and plays the same episode" "$(cmp p.svg q.svg 2>&1)"
tap_run "play takes the first digits of a run" 0 "run $run after iteration 2" trainer play -c "${run:0:4}" -l 1 -n 5 -o q.svg
tap_run "play takes a run's folder" 0 "run $run after iteration 2" trainer play -c "runs/${run:0:2}/$run/" -l 1 -n 5 -o q.svg
tap_check "from anywhere" "$(cd / && trainer play -c "$tap_dir/runs/${run:0:2}/$run" -l 1 -n 5 -o "$tap_dir/r.svg" 2>&1 >/dev/null
  cmp "$tap_dir/p.svg" "$tap_dir/r.svg" 2>&1)"
tap_run "play: an unknown run is an error that names the search path" 2 "'zzz' is not a run of $tap_dir" trainer play -c zzz
tap_check "inside the checkpoint's folder too" "$(cd "runs/${run:0:2}/$run/ckpt" && trainer play -c "$(basename "$ckpt")" -l 1 -n 5 -o "$tap_dir/r.svg" 2>&1 >/dev/null
  cmp "$tap_dir/p.svg" "$tap_dir/r.svg" 2>&1)"
tap_check "another seed acts otherwise" "$(trainer play -c "$run" -l 1 -n 5 --seed 9 -o s.svg >/dev/null; [ -s s.svg ] || echo 'no picture'
  cmp -s p.svg s.svg && echo 'the same picture')"
tap_run "play takes a level that the run never saw" 0 "tree-0-007" trainer play -c "$run" -l all/7 -n 3 -o t.svg
tap_run "play takes a level file of a smaller size" 0 "good," trainer play -c "$run" -l good.json -n 3 -o t.svg
if [ -e a.png ]; then
  tap_run "play draws a .gif" 0 "4 steps" trainer play -c "$run" -n 4 -o p.gif --size 100
  expect_equal "of the size asked for, with a label" "$(hex p.gif 0 6) $(gif_size p.gif)" "474946383961 116x132"
fi
tap_check "play leaves the run as it was" "$(diff <(echo "$before") <(cd "runs/${run:0:2}/$run" && find . -type f -exec cksum {} + | sort))"
tap_run "play: no checkpoint named" 2 "--checkpoint" trainer play
tap_run "play: a run that is not there" 2 "run 0123456789abcdef does not exist" trainer play -c 0123456789abcdef
tap_run "play: a workspace that is not there" 1 "nowhere" trainer play -c "$run" --root nowhere
tap_run "play: a level that the run has not" 2 "levels are 0 to 3" trainer play -c "$run" -l 4 -o x.svg
tap_run "play: a level larger than the policy's" 2 "smaller levels" trainer play -c "$run" -l loco512/0 -o x.svg
tap_run "play: a whole set" 2 "select one" trainer play -c "$run" -l all -o x.svg
tap_run "play: a stray operand" 2 "--level" trainer play "$run"
cp "$ckpt" damaged.bak
printf 'x' | dd of="$ckpt" bs=1 seek=700 conv=notrunc status=none
tap_run "play: a damaged checkpoint" 1 "damaged" trainer play -c "$run" -o x.svg
head -c 200 damaged.bak >"$ckpt"
tap_run "play: a torn checkpoint" 1 "damaged" trainer play -c "$ckpt" -o x.svg
cp damaged.bak "$ckpt"
sed -i 's/^width = 16/width = 32/' "runs/${run:0:2}/$run/config.ini"
tap_run "play: a configuration of another run" 2 "belongs to run $run" trainer play -c "$ckpt" -o x.svg
rm -r "runs/${run:0:2}/$run/ckpt"/*
tap_run "play: no checkpoint yet" 2 "no checkpoint in this directory: none was written yet" trainer play -c "$run" -o x.svg
tap_done
