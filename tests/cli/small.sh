# Sourced by tests of environments other than the simulator's: prints the settings, except [env], of a training that
# takes a second or two.
small_settings() {
  cat <<'INI'
[train]
threads = 1
total_steps = 960
[ppo]
num_steps = 16
num_minibatches = 4
epochs = 2
[net]
width = 8
depth = 1
[eval]
episodes = 4
count = 0
[checkpoint]
every = 0
INI
}
