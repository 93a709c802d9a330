#!/bin/sh
# SPDX-License-Identifier: MIT
# Every input that fuzzing has kept (fuzz/corpus/NAME) goes through its target again, and every reader is a target. TAP.
set -u
cd "${BOBBIN_SOURCE:-$(dirname "$0")/../..}" || exit 1
build=${BOBBIN_BUILD:-build}
count=0
for target in fuzz/fuzz_*.c; do
	name=$(basename "$target" .c)
	name=${name#fuzz_}
	count=$((count + 1))
	log=$(mktemp)
	# fuzz/corpus/NAME-found: what fuzzing wrote and no test reads, for it is no sample of anything.
	set -- "fuzz/corpus/$name"
	[ ! -d "fuzz/corpus/$name-found" ] || set -- "$@" "fuzz/corpus/$name-found"
	if said=$("$build/fuzz/replay_$name" "$@" 2>"$log") && [ "${said#ok }" != "$said" ] && ! echo "$said" | grep -q '^not ok'; then
		echo "ok $count - $name: $(echo "$said" | sed -n 's/.*: \([0-9]* inputs\)$/\1/p' | tr '\n' ' ')"
	else
		tail -n 20 "$log" | sed 's/^/# /'
		echo "not ok $count - $name: the input named last, or the corpus is missing"
	fi
	rm -f "$log"
done

# The formats as the command names them: two blanks, the name, what it is.
count=$((count + 1))
formats=$("$build/bobbin" help import | sed -n '/^Formats/,/^$/s/^  \([a-z][a-z-]*\)  *[A-Za-z].*/\1/p')
targets=$(tools/run-fuzz --list)
missing=
for format in $formats; do
	echo "$targets" | grep -qx "import/$format" || missing="$missing $format"
done
if [ "$(echo "$formats" | wc -l)" -ge 20 ] && [ -z "$missing" ]; then
	echo "ok $count - each format of help import is a target"
else
	echo "not ok $count - formats without a target, or none found:${missing:- $formats}"
fi
echo "1..$count"
