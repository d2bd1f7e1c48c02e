#!/usr/bin/env bash
# Libraries this project builds with. "check" (fast, silent when all are there), "install" (apt as root or sudo), or
# "install packaging", with what makes Debian packages.
# Where nothing can be installed it prints the packages for Debian, Fedora and Spack, and stops. What is "optional" is
# installed where that is possible, and does without otherwise.
set -u
mode=${1:-check} also=${2:-}
# what proves it is there (optional: a program, a header, or a plugin of Slurm) | Debian | Fedora | Spack
needs=(
  "command:gcc|gcc libc6-dev|gcc|gcc"
  "command:pkg-config|pkg-config|pkgconf-pkg-config|pkgconf"
  "header:sqlite3.h|libsqlite3-dev|sqlite-devel|sqlite"
  "header:jansson.h|libjansson-dev|jansson-devel|jansson"
  "header:sodium.h|libsodium-dev|libsodium-devel|libsodium"
  "header:archive.h|libarchive-dev|libarchive-devel|libarchive"
  "header:Random123/philox.h|librandom123-dev|random123-devel|random123"
  "header:oneapi/dnnl/dnnl.h|libdnnl-dev|onednn-devel|onednn"
  "header:gd.h|libgd-dev|gd-devel|libgd"
  "command:gnuplot|gnuplot-nox|gnuplot|gnuplot"
  "optional:mpirun|libopenmpi-dev openmpi-bin|openmpi-devel|openmpi"
  "optional:slurmctld|slurm-wlm munge|slurm-slurmctld slurm-slurmd munge|slurm munge"
  "optional:auth_jwt.so|slurm-wlm-jwt-plugin|slurm|slurm"
  "optional:slurmrestd|slurmrestd|slurm-slurmrestd|slurm +restd"
  "optional:pip3|python3-pip python3-venv|python3-pip|py-pip"
  "optional:curl-config|libcurl4-openssl-dev|libcurl-devel|curl"
  "optional:microhttpd.h|libmicrohttpd-dev|libmicrohttpd-devel|libmicrohttpd"
  "header:cmocka.h|libcmocka-dev|libcmocka-devel|cmocka"
)
[ "$also" != packaging ] || needs+=("optional:dh|debhelper dpkg-dev lintian|debhelper dpkg-dev|")
present() {
  case $1 in
    optional:*.so) [ -n "$(ls /usr/lib*/*/slurm-wlm/"${1#*:}" /usr/lib*/slurm/"${1#*:}" 2>/dev/null)" ] ;; # Slurm's
    optional:*.h) printf '#include <%s>\n' "${1#*:}" | ${CC:-gcc} -E -x c - >/dev/null 2>&1 ;;
    command:*|optional:*) PATH=$PATH:/usr/sbin:/sbin command -v "${1#*:}" >/dev/null 2>&1 ;;
    header:cmocka.h) printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' | ${CC:-gcc} -E -x c - >/dev/null 2>&1 ;;
    header:*) printf '#include <%s>\n' "${1#*:}" | ${CC:-gcc} -E -x c - >/dev/null 2>&1 ;;
  esac
}
stamp=build/dependencies.$mode$also
if [ -e "$stamp" ] && [ "$stamp" -nt "$0" ]; then exit 0; fi
collect() {
  debian=() fedora=() spack=() required=0
  for row in "${needs[@]}"; do
    IFS='|' read -r proof d f s <<<"$row"
    case $mode:$proof in check:optional:*) continue ;; esac
    if ! present "$proof"; then
      debian+=($d); fedora+=("$f"); spack+=($s)
      case $proof in optional:*) ;; *) required=$((required + 1)) ;; esac
    fi
  done
}
collect
if [ ${#debian[@]} -gt 0 ] && [ "$mode" = install ] && command -v apt-get >/dev/null 2>&1; then
  sudo=
  if [ "$(id -u)" != 0 ]; then sudo=$(command -v sudo || true); [ -n "$sudo" ] && sudo="sudo -n"; fi
  if [ "$(id -u)" = 0 ] || { [ -n "$sudo" ] && $sudo true 2>/dev/null; }; then
    echo "installing: ${debian[*]}"
    log=$(mktemp)
    known() { for p in "${debian[@]}"; do apt-cache show "$p" 2>/dev/null | grep -q . && echo "$p"; done; } # one unknown fails all
    if ! { $sudo apt-get update -qq &&
           DEBIAN_FRONTEND=noninteractive $sudo apt-get install -yqq --no-install-recommends $(known); } >"$log" 2>&1; then
      tail -5 "$log" >&2
    fi
    rm -f "$log"
    collect
  fi
fi
if [ ${#debian[@]} -gt 0 ]; then
  {
    if [ $required -gt 0 ]; then echo "some libraries are missing; install them and call make again:"
    else echo "going on without some optional programs; to have them:"; fi
    echo "  Debian, Ubuntu:  apt-get install ${debian[*]}"
    echo "  Fedora, RHEL:    dnf install ${fedora[*]}"
    echo "  Spack:           spack install ${spack[*]}"
  } >&2
  [ $required -eq 0 ]
  exit
fi
mkdir -p build && touch "$stamp"
