#!/usr/bin/env bash
# Images of MuJoCo's tasks: trainer show and play render them off screen as .png, .gif and .mp4 of the requested size
# and length; errors name the remedy. TAP.
set -u
source tests/cli/tap.sh
cd "$tap_dir"
hex() { od -An -v -tx1 -j"$2" -N"$3" "$1" | tr -d ' \n'; }              # file, offset, bytes
png_size() { echo "$((16#$(hex "$1" 16 4)))x$((16#$(hex "$1" 20 4)))"; }
gif_size() { local h; h=$(hex "$1" 6 4); echo "$((16#${h:2:2}${h:0:2}))x$((16#${h:6:2}${h:4:2}))"; }
gif_delays() { LC_ALL=C grep -obUaP '(?s)\x21\xf9\x04.{4}\x00\x2c' "$1" | cut -d: -f1 | while read -r at; do hex "$1" $((at + 4)) 2; echo; done; }
expect_equal() { tap_check "$1" "$([ "$2" = "$3" ] || echo "$2 instead of $3")"; }
show() { trainer show "$@"; }

# ---- without MuJoCo and OpenGL
tap_run "show: a task nearly right" 2 "mujoco/Ant-v4" show mujoco/Ant-v44 -o x.png
tap_run "show: sheets are for levels" 2 "--sheet applies to levels" show mujoco/Ant-v5 --sheet 2x2 -o x.png
tap_run "show: and so are sets" 2 "--from applies to levels" show mujoco/Ant-v5 --from 2 -o x.png
if ! trainer --dry-run --set env.task=mujoco/Ant-v5 >out 2>&1; then
  tap_run "show: without MuJoCo the message names the command" 2 "make mujoco" show mujoco/Ant-v5 -o x.png
  tap_skip "pictures" "$(tail -n 1 out)"
  tap_done
fi
tap_run "show: another ending" 2 ".png, .gif or .mp4" show mujoco/Ant-v5 -o x.svg
tap_run "show: no ending at all" 2 ".png, .gif or .mp4" show mujoco/Ant-v5 -o x
tap_run "show: too large" 2 "--size 4000" show mujoco/Ant-v5 --size 4000 -o x.png

# ---- without EGL and OSMesa; libglvnd's own variable hides EGL's vendors
__EGL_VENDOR_LIBRARY_DIRS=$tap_dir/none show mujoco/Ant-v5 --size 64 -o osmesa.png >out 2>&1
case $? in
  0) expect_equal "without EGL it is OSMesa that draws" "$(png_size osmesa.png)" 64x64 ;;
  *) tap_check "without both the message names the packages" \
    "$(grep -q 'EGL.*OSMesa.*libegl1 or libosmesa6.*Training does not' out || cat out)" ;;
esac
if ! show mujoco/Ant-v5 --size 100 -o ant.png >out 2>&1; then
  tap_check "without libgd or OpenGL the way out is named" "$(grep -qE 'libgd|libosmesa6' out || cat out)"
  tap_skip "pictures" "$(head -n 1 out)"
  tap_done
fi

# ---- show
expect_equal "show draws a .png of the size asked for" "$(hex ant.png 0 8) $(png_size ant.png)" "89504e470d0a1a0a 100x100"
tap_check "which is not of one color" "$([ "$(wc -c <ant.png)" -gt 3000 ] || echo "$(wc -c <ant.png) bytes")"
tap_check "the same command draws the same bytes" "$(show mujoco/Ant-v5 --size 100 -o again.png >/dev/null; cmp ant.png again.png 2>&1)"
tap_check "another seed begins elsewhere" "$(show mujoco/Ant-v5 --size 100 --seed 5 -o other.png >/dev/null
  [ -s other.png ] || echo 'no picture'; cmp -s ant.png other.png && echo 'the same picture')"
show mujoco/Ant-v5 --size 100 -n 8 -o fell.png >/dev/null; show mujoco/Ant-v5 --size 100 -n 8 --random -o moved.png >/dev/null
tap_check "steps and actions change the image" "$([ -s fell.png ] && [ -s moved.png ] || echo 'no picture'
  cmp -s ant.png fell.png && echo 'start = after 8 steps'; cmp -s fell.png moved.png && echo 'nothing = random actions')"
tap_run "a task without a camera of its own" 0 "64 x 64 pixels" show mujoco/Reacher-v5 --size 64 -o reacher.png
tap_run "show moves in a .gif, a frame each step of 1/20 s" 0 "64 x 64 pixels, 5 frames" \
  show mujoco/HalfCheetah-v4 --random -n 4 --size 64 -o cheetah.gif
expect_equal "of the size asked for" "$(hex cheetah.gif 0 6) $(gif_size cheetah.gif)" "474946383961 64x64"
expect_equal "at the world's own speed, with a rest at its end" "$(gif_delays cheetah.gif | sort | uniq -c | xargs)" \
  "4 0500 1 6400"
tap_run "of steps of 1/125 s every third" 0 "5 frames" show mujoco/Hopper-v4 --random -n 12 --size 32 -o hopper.gif
expect_equal "so that time stays right" "$(gif_delays hopper.gif | xargs)" "0200 0300 0200 0300 6400"

# ---- .mp4: an ffmpeg that saves its input
mkdir bin empty
cat >bin/ffmpeg <<'END'
#!/bin/sh
echo "$*" >"$FFMPEG_SAID"
for last; do :; done
exec cat >"${last#file:}"
END
chmod +x bin/ffmpeg
export FFMPEG_SAID=$tap_dir/said
PATH=$tap_dir/bin:$PATH show mujoco/Hopper-v4 -n 6 --size 33 -o hop.mp4 >out 2>&1
expect_equal "ffmpeg gets every frame" "$(wc -c <hop.mp4) $(cat out)" "$((3 * 3 * 33 * 33)) hop.mp4: 33 x 33 pixels, 3 frames"
tap_check "and their size and rate" "$(grep -q -- '-video_size 33x33 -framerate 41.666667 ' said || cat said)"
printf '#!/bin/sh\necho "no such encoder" >&2\nexit 3\n' >bin/ffmpeg
rm -f x.*
tap_run "an ffmpeg that fails" 1 "its messages are above" env PATH="$tap_dir/bin:$PATH" \
  trainer show mujoco/Hopper-v4 -n 3 --size 400 -o x.mp4
tap_run "no ffmpeg" 2 "install ffmpeg, or choose .gif" env PATH="$tap_dir/empty" \
  "$SWEEP_BUILD/bin/trainer" show mujoco/Hopper-v4 --size 32 -o x.mp4
tap_check "failed commands leave nothing behind" "$(ls x.* ./*.part 2>/dev/null)"
if command -v ffprobe >/dev/null && command -v ffmpeg >/dev/null; then
  show mujoco/Hopper-v4 -n 6 --size 33 -o real.mp4 >/dev/null
  expect_equal "a real one makes a film of even sides" \
    "$(ffprobe -v error -show_entries stream=width,height,nb_frames -of csv=p=0 real.mp4)" 34,34,3
else
  tap_skip "a real ffmpeg" "there is none"
fi

# ---- play: a policy that two iterations made
tap_run "a run to look at" 0 "" trainer --quiet --set env.task=mujoco/HalfCheetah-v4 --set net.action_head=gaussian \
  --set env.num=4 --set ppo.num_steps=128 --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 \
  --set net.depth=1 --set env.normalize_observations=cleanrl --set eval.count=0 --set train.threads=1 \
  --set train.total_steps=1024
run=$(basename runs/*/*)
before=$(cd "runs/${run:0:2}/$run" && find . -type f -exec cksum {} + | sort)
tap_run "play draws a .gif" 0 "p.gif: mujoco/HalfCheetah-v4, 6 steps, cut off, return " trainer play -c "$run" -n 6 --size 64 -o p.gif
expect_equal "a frame each step" "$(gif_size p.gif) $(gif_delays p.gif | wc -l)" "64x64 7"
tap_run "a whole episode" 0 "1000 steps, to the time limit, return " trainer play -c "$run" --size 64 -o end.png
said=$(trainer play -c "$run" --size 64 -o end2.png)
tap_check "the same once more" "$(cmp end.png end2.png 2>&1; grep -q 'time limit' <<<"$said" || echo "$said")"
tap_check "another seed plays otherwise" "$(trainer play -c "$run" -n 6 --size 64 --seed 9 -o q.gif >/dev/null
  [ -s q.gif ] || echo 'no film'; cmp -s p.gif q.gif && echo 'the same film')"
tap_run "play: levels" 2 "has no levels" trainer play -c "$run" -l 3 -o x.gif
tap_run "play: another ending" 2 ".png, .gif or .mp4" trainer play -c "$run" -o x.svg
tap_check "play leaves the run as it was" "$(diff <(echo "$before") <(cd "runs/${run:0:2}/$run" && find . -type f -exec cksum {} + | sort))"
tap_done
