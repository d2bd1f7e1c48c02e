#!/usr/bin/env bash
# Libraries this project builds with. "check" (fast, silent when all are there), or "install" (apt as root or sudo), which
# may be followed by "tests", a Slurm and pip, "packaging", what makes Debian packages, "portable", what the libraries of
# the wheel are built with, and "procgen", what Procgen's library opens.
# Where nothing can be installed it prints the packages for Debian, Fedora and Spack, and stops. What is "wanted" a build
# can do without, though not the demo and the tests: "check" only names it. What is "optional" is installed where that is
# possible, and all do without otherwise. "portable" is needed by the wheel.
set -u
mode=${1:-check} also=" ${*:2} "
# kind:evidence that it is installed (a program, a header, a shared library, or a plugin of Slurm) | Debian | Fedora | Spack
needs=(
  "needed:gcc|gcc libc6-dev|gcc|gcc"
  "needed:pkg-config|pkg-config|pkgconf-pkg-config|pkgconf"
  "needed:sqlite3.h|libsqlite3-dev|sqlite-devel|sqlite"
  "needed:jansson.h|libjansson-dev|jansson-devel|jansson"
  "needed:sodium.h|libsodium-dev|libsodium-devel|libsodium"
  "needed:zlib.h|zlib1g-dev|zlib-devel|zlib"
  "needed:archive.h|libarchive-dev|libarchive-devel|libarchive"
  "needed:Random123/philox.h|librandom123-dev|random123-devel|random123"
  "wanted:oneapi/dnnl/dnnl.h|libdnnl-dev|onednn-devel|onednn"
  "wanted:gd.h|libgd-dev|gd-devel|libgd"
  "wanted:gnuplot|gnuplot-nox|gnuplot|gnuplot"
  "optional:mpirun|libopenmpi-dev openmpi-bin|openmpi-devel|openmpi"
  "optional:curl-config|libcurl4-openssl-dev|libcurl-devel|curl"
  "optional:microhttpd.h|libmicrohttpd-dev|libmicrohttpd-devel|libmicrohttpd"
  "wanted:cmocka.h|libcmocka-dev|libcmocka-devel|cmocka"
)
[[ $also != *" tests "* ]] || needs+=(
  "optional:slurmctld|slurm-wlm munge|slurm-slurmctld slurm-slurmd munge|slurm munge"
  "optional:auth_jwt.so|slurm-wlm-jwt-plugin|slurm|slurm"
  "optional:slurmrestd|slurmrestd|slurm-slurmrestd|slurm +restd"
  "optional:pip3|python3-pip python3-venv|python3-pip|py-pip"
)
[[ $also != *" packaging "* ]] || needs+=("optional:dh|debhelper dpkg-dev lintian|debhelper dpkg-dev|")
[[ $also != *" portable "* ]] || needs+=(
  "portable:pip3|python3-pip|python3-pip|py-pip"
  "portable:dpkg-source|dpkg-dev|dpkg-dev|dpkg"
  "portable:autoreconf|autoconf automake|autoconf automake|autoconf automake"
  "portable:libtoolize|libtool|libtool|libtool"
  "portable:tclsh|tcl|tcl|tcl"
)
[[ $also != *" procgen "* ]] || needs+=(
  "optional:libGL.so.1|libgl1|libglvnd-glx|libglvnd"
  "optional:libglib-2.0.so.0|libglib2.0-0|glib2|glib"
  "optional:libX11.so.6|libx11-6|libX11|libx11"
)
included() { printf '#include <%s>\n' "$@" | ${CC:-gcc} -E -x c - >/dev/null 2>&1; }
present() {
  case $1 in
    *.so.[0-9]*) PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -qF "$1 " ;;
    *.so) [ -n "$(ls /usr/lib*/*/slurm-wlm/"$1" /usr/lib*/slurm/"$1" 2>/dev/null)" ] ;; # Slurm's
    cmocka.h) included stdarg.h stddef.h stdint.h setjmp.h cmocka.h ;;
    *.h) included "$1" ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1 ;;
  esac
}
stamp=build/dependencies.$mode${also// /}
if [ -e "$stamp" ] && [ "$stamp" -nt "$0" ]; then exit 0; fi
collect() {
  debian=() fedora=() spack=() without=() required=0
  for row in "${needs[@]}"; do
    IFS='|' read -r proof d f s <<<"$row"
    case $mode:$proof in check:optional:*) continue ;; esac
    present "${proof#*:}" && continue
    case $mode:$proof in check:wanted:*) without+=("$d"); continue ;; esac
    debian+=($d); fedora+=("$f"); spack+=($s)
    case $proof in optional:*) ;; *) required=$((required + 1)) ;; esac
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
[ ${#without[@]} -eq 0 ] || echo "building without ${without[*]} (make info says what that means; make deps installs it)" >&2
mkdir -p build && touch "$stamp"
