#!/bin/bash
# SPDX-License-Identifier: MIT
# What is installed can be used: a program is compiled with what pkg-config says, against the shared library and against
# the archive, and calls the library; the command runs.
set -u
if [ -n "${BOBBIN_SAN:-}" ]; then
	echo "1..0 # SKIP a sanitized library is not for installing"
	exit 0
fi
count=0 failed=0
ok() { # NAME COMMAND…
	local name=$1 out
	shift
	count=$((count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		failed=1
		echo "not ok $count - $name"
		printf '%s\n' "$out" | head -n 20 | sed 's/^/# /'
	fi
}
cc=${CC:-cc}
root=$TMPDIR/root
ok "it installs below DESTDIR" env DESTDIR="$root" meson install -C "$BOBBIN_BUILD" --no-rebuild --quiet
pc=$(find "$root" -name bobbin.pc)
prefix=$root$(sed -n 's/^prefix=//p' "$pc")
libraries=$(dirname "$(dirname "$pc")")
flags() {
	PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" "$@" bobbin
}

# Takes the address of every function that bobbin.h declares, so that a missing one is a link error, and calls one.
{
	echo '#include <bobbin.h>'
	echo '#include <string.h>'
	echo 'typedef void (*function)(void);'
	echo 'static const function all[] = {'
	tr '\n' ' ' <"$BOBBIN_SOURCE/include/bobbin.h" | grep -o 'BOBBIN_API [^;(]*(' |
		sed -n 's/.*[ *]\(bobbin_[a-z0-9_]*\)($/\t(function)\1,/p'
	echo '};'
	echo 'int main(int count, char **arguments)'
	echo '{'
	echo '	(void)arguments;'
	echo '	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)'
	echo '		if (!all[i] || count > 100)'
	echo '			return 1;'
	echo '	return strcmp(bobbin_version(), VERSION) != 0;'
	echo '}'
} >"$TMPDIR/program.c"
version=-DVERSION=\"$(flags --modversion)\"
compile() { # OUTPUT FLAG…
	local out=$1
	shift
	"$cc" -std=c17 "$version" -o "$out" "$TMPDIR/program.c" "$@"
}
run() {
	LD_LIBRARY_PATH=$libraries "$@"
}
missing_function() {
	sed 's/return strcmp/bobbin_not_there(); &/; s/^int main/void bobbin_not_there(void); &/' "$TMPDIR/program.c" >"$TMPDIR/bad.c"
	! "$cc" -std=c17 "$version" -o "$TMPDIR/bad" "$TMPDIR/bad.c" $(flags --cflags --libs)
}

ok "a program compiles against the shared library" compile "$TMPDIR/shared" $(flags --cflags --libs)
ok "and runs" run "$TMPDIR/shared"
ok "it needs libbobbin.so.0" grep -q 'libbobbin\.so\.0\]' <(readelf -d "$TMPDIR/shared")
# Not wholly static: Debian has no static library of Kerberos, which its libcurl needs.
below=$(pkg-config --libs $(flags --print-requires-private))
ok "a program compiles against the archive" compile "$TMPDIR/static" $(flags --cflags) "$libraries/libbobbin.a" $below -lm -pthread
ok "and runs" env -i "$TMPDIR/static"
ok "it needs no library of ours" bash -c '! readelf -d "$1" | grep -q libbobbin' - "$TMPDIR/static"
ok "a function that is not there would be noticed" missing_function
ok "the link without version leads to the library" test -f "$libraries/libbobbin.so"
if [ -e "$BOBBIN" ]; then
	ok "the command runs where no library is found" env -i "$prefix/bin/bobbin" help
else
	count=$((count + 1))
	echo "ok $count - the command runs # SKIP it is not built"
fi
ok "nothing else is installed" diff <(cd "$prefix" && find . ! -type d | sed 's,^.*/,,' | sort) <(
	[ ! -e "$BOBBIN" ] || echo bobbin
	printf '%s\n' bobbin.h bobbin.pc libbobbin.a libbobbin.so libbobbin.so.0 "libbobbin.so.$(flags --modversion)")
echo "1..$count"
exit $failed
