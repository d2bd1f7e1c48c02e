# Sourced by tests of failing disks: disk_build builds the shim (disk.c); on_disk KIND:N COMMAND... runs a program on
# such a disk; disk_changes COMMAND... prints its number of changes on a working disk.
disk_shim=$tap_dir/disk.so
disk_build() { ${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -O1 -o "$disk_shim" "${BASH_SOURCE[0]%/*}/disk.c" 2>"$tap_dir/out"; }
on_disk() { local fault=$1; shift; DISK_FAULT=$fault LD_PRELOAD=$disk_shim "$@"; }
disk_changes() { DISK_COUNT=$tap_dir/changes on_disk count:0 "$@" >/dev/null 2>&1; cat "$tap_dir/changes"; }
