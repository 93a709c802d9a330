#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/setup against a dpkg, an apt-get, an id and a sudo of the test's own: nothing is installed.
set -u
bin=$TMPDIR/bin
mkdir -p "$bin"
cat >"$bin/dpkg-query" <<'END'
#!/bin/sh
# Knows the packages in $TMPDIR/installed; fails like the real one if another is asked for.
status=0
shift 3
while [ $# -gt 0 ]; do
	if grep -qx "$1" "$TMPDIR/installed"; then echo "$1 ii "; else status=1; fi
	shift
done
exit $status
END
cat >"$bin/apt-get" <<'END'
#!/bin/sh
echo "$*" >>"$TMPDIR/asked"
case " $* " in
*" update "*) touch "$TMPDIR/updated"; exit 0 ;;
esac
[ -e "$TMPDIR/updated" ] || exit 100
for word; do :; done
[ "$word" = nowhere ] || echo "$word" >>"$TMPDIR/installed"
END
printf '#!/bin/sh\ncat "$TMPDIR/id"\n' >"$bin/id"
printf '#!/bin/sh\n[ ! -e "$TMPDIR/no-sudo" ] || exit 1\n[ "$1" != -n ] || shift\nexec "$@"\n' >"$bin/sudo"
chmod +x "$bin"/*

count=0 failed=0
ok() { # NAME CONDITION
	count=$((count + 1))
	if eval "$2"; then
		echo "ok $count - $1"
	else
		failed=1
		echo "not ok $count - $1"
		sed 's/^/# /' "$TMPDIR/out"
	fi
}
setup() { # packages of the list
	printf '%s   # why\n' "# a comment" '' "$@" >"$TMPDIR/list"
	rm -f "$TMPDIR/asked" "$TMPDIR/updated"
	PATH=$bin:$PATH tools/setup "$TMPDIR/list" >"$TMPDIR/out" 2>&1 </dev/null
	status=$?
}
echo 0 >"$TMPDIR/id"
printf 'one\ntwo\n' >"$TMPDIR/installed"

setup one two
ok "all there: done, nothing said, nothing asked" '[ $status = 0 ] && [ ! -s $TMPDIR/out ] && [ ! -e $TMPDIR/asked ]'
setup one three
ok "root: what is missing is installed, after an update" '[ $status = 0 ] && grep -qx three $TMPDIR/installed && grep -q update $TMPDIR/asked'
ok "and one line says so" '[ "$(cat $TMPDIR/out)" = "installing three" ]'
setup nowhere
ok "what cannot be installed is named, and it fails" '[ $status = 1 ] && grep -q "could not install: nowhere" $TMPDIR/out'
echo 1000 >"$TMPDIR/id"
setup four
ok "not root: through sudo" '[ $status = 0 ] && grep -qx four $TMPDIR/installed'
touch "$TMPDIR/no-sudo"
setup five
ok "without sudo it says what to install, and fails" '[ $status = 1 ] && grep -qx "install them as root: apt-get install five" $TMPDIR/out && [ ! -e $TMPDIR/asked ]'
PATH=$bin:$PATH tools/setup no-such-list >"$TMPDIR/out" 2>&1
status=$?
ok "a list that is not there" '[ $status = 2 ] && grep -q "no list no-such-list" $TMPDIR/out'
echo "1..$count"
exit $failed
