#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/run-tests itself: a copy of it is run on a small tree of tests made here.
set -u
top=$TMPDIR/top
mkdir -p "$top/tools" "$top/tests/base" "$top/tests/store" "$top/build/tests"
cp tools/run-tests tools/run-soak "$top/tools/"
say() { printf '#!/bin/sh\n%s\n' "$2" >"$top/$1" && chmod +x "$top/$1"; }
say tests/base/test_good.sh 'echo "1..1"; echo "# counted ${BOBBIN_SOAK:-0} times"; echo "ok 1 - good N=${N:-} ${BOBBIN_SOAK:-}"; echo noise >&2'
touch "$top"/tests/base/test_{skips,crash,absent}.c
say build/tests/test_skips 'printf "1..2\nok 1 - a\nnot ok 2 # SKIP b\n1..1\nok 1 - c\n"'
say build/tests/test_crash 'printf "1..2\nok 1 - a\n"; echo why >&2; kill -SEGV $$'
say tests/store/test_bad.sh 'echo "1..1"; echo "not ok 1 - bad"; echo because >&2; exit 1'
echo 'base/good # long' >"$top/tests/soak.txt"

count=0 failed=0
run() {
	(cd / && unset BOBBIN_TRANSCRIPTS BOBBIN_SOAK && "$top/tools/$1" "$top/build" "${@:2}") >"$TMPDIR/out" 2>&1
	status=$?
}
ok() { # NAME STATUS PATTERN…
	local name=$1 good=1 pattern
	[ $status = "$2" ] || good=0
	for pattern in "${@:3}"; do
		if [ "${pattern#!}" != "$pattern" ]; then
			! grep -qE -- "${pattern#!}" "$TMPDIR/out" || good=0
		else
			grep -qE -- "$pattern" "$TMPDIR/out" || good=0
		fi
	done
	count=$((count + 1))
	[ $good = 1 ] || failed=1
	echo "$([ $good = 1 ] || echo 'not ')ok $count - $name"
	[ $good = 1 ] || sed 's/^/# /' "$TMPDIR/out"
}
run run-tests base/good
ok "a test that passes, and the word about transcripts" 0 'Result: PASS' 'set BOBBIN_TRANSCRIPTS' '!noise'
run run-tests base/test_skips
ok "skipped tests are skipped, two groups are one" 0 'ok 2 # SKIP' 'ok 3 - c' '^1\.\.3' 'Result: PASS'
run run-tests store
ok "a test that fails shows why" 1 '# because' 'Result: FAIL'
run run-tests base/crash
ok "a crash is a failure" 1 'planned 2 tests but ran 1' '# why'
run run-tests base/absent
ok "a test that is not built is a failure" 1 'test_absent.c was not built'
run run-tests
ok "all of them, the closing line at the end" 1 'Files=5' 'Result: FAIL'
run run-tests base/nothing
ok "an unknown name is an error that lists the names" 2 "no test 'base/nothing'" '^  base/good$' '^  store/bad$'
N=7 run run-soak base/good
ok "soak of one test, with N as its number" 0 'good N=7 1' 'Files=1'
N=0.5 run run-soak
ok "soak runs what soak.txt names, scaled by N, and says what was counted" 0 '^\[1/1, 0:00\] base/good' '^passed base/good, .*: counted 0.5 times$' '^1 parts, 0 failed'
N=much run run-soak
ok "an N that is no number is an error" 2 'it must be a number'
echo 'store/bad' >>"$top/tests/soak.txt"
run run-soak
ok "a part of a soak that fails fails it, and the others run" 1 '^passed base/good' '^FAILED store/bad' 'because' '^2 parts, 1 failed'
leftover=$(find "$TMPDIR" -maxdepth 1 -name 'bobbin-tests.*')
status=0
ok "no scratch directory is left" "${leftover:+1}0"
echo "1..$count"
exit $failed
