#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/store.sh BUILD
# The store at scale beside raw write+fdatasync, SQLite, ripgrep and the npm peers that can be installed (into
# .deps/bench, pinned). STORE_BENCH names a folder on the disk to measure (default .deps/bench/store, made and
# removed), MESSAGES and BYTES the large session; LARGE=0 leaves out what needs a gigabyte.
set -eu
build=$1
into=.deps/bench
dir=${STORE_BENCH:-$into/store}
messages=${MESSAGES:-100000}
bytes=${BYTES:-200000000}
timer=$build/bench/time_store
bobbin=$build/bobbin
out=$dir.txt
mkdir -p $into
rm -rf "$dir" && mkdir -p "$dir"
trap 'rm -rf "$dir" "$out"' EXIT

# name WHAT…: the measure's lines under a name of their own
name() {
	as=$1
	shift
	"$@" | sed "s/^[a-z-]*/$as/"
}

$timer make "$dir/big" "$messages" "$bytes"
{
	for what in 'rebuild 11' 'open 101' 'plan 1001' 'exact 101' 'plan-public 1001' 'append 1001' 'fork 51' 'bytes 1024'; do
		$timer ${what% *} "$dir/big" ${what#* }
	done
	$timer process process 21 "$bobbin" window main --store "$dir/big" --json
	$timer process process-floor 21 "$bobbin" help
	for i in 1 2 3; do
		$timer raw-parallel "$dir/parallel" 64 100
		$timer parallel "$dir/parallel" 64 100
		rm -rf "$dir/parallel"
	done
	for count in 100 2400 "$messages"; do
		$timer turn "$dir/turn" "$count" | sed "s/-$messages /-all /"
		rm -rf "$dir/turn"
	done
	$timer sessions "$dir/many" 10000
	$timer list "$dir/many" 11
	query='größer of messages 12 größer'
	$timer search "$dir/big" 11 "$query"
	if command -v rg >/dev/null; then
		echo "ripgrep messages $(rg --no-ignore --hidden -c --no-filename -F "$query" "$dir/big" | awk '{ n += $1 } END { print n + 0 }')"
		$timer process ripgrep 11 rg --no-ignore --hidden -c -F "$query" "$dir/big"
	fi
} >"$out"

if [ "${LARGE:-1}" != 0 ]; then
	{
		$timer make "$dir/large" 200000 1000000000
		name large-rebuild $timer rebuild "$dir/large" 1
		name large $timer open "$dir/large" 101
		name large-plan $timer plan "$dir/large" 1001
		name large-list $timer list "$dir/large" 11
		rm -rf "$dir/large"
		$timer long-line "$dir/line" 12000000
		name line $timer open "$dir/line" 101
		name line-plan $timer plan "$dir/line" 1001
		name line-list $timer list "$dir/line" 11
		$timer sparse "$dir/sparse" 3000 11000000000
		name sparse-list $timer list "$dir/sparse" 11
		rm -rf "$dir/sparse/.cache"
		name sparse-first $timer list "$dir/sparse" 1
	} >>"$out"
fi

if command -v node >/dev/null; then
	# LangGraph wants other versions of what the others share.
	for at in . langgraph; do
		mkdir -p $into/$at
		[ -f $into/$at/package.json ] || echo '{"private":true}' >$into/$at/package.json
	done
	while read -r at peer; do
		[ -d "$into/$at/node_modules/${peer%@*}" ] && continue
		(cd "$into/$at" && npm install --silent --no-audit --no-fund "$peer" >/dev/null 2>&1) ||
			echo "$peer could not be installed" >&2
	done <<-EOF
		. @mariozechner/pi-coding-agent@0.73.1
		. better-sqlite3@12.6.2
		langgraph @langchain/core@1.1.44
		langgraph @langchain/langgraph-checkpoint-sqlite@1.0.4
	EOF
	node bench/store.mjs "$dir" "$messages" "$bytes" $into/node_modules $into/langgraph/node_modules >>"$out" ||
		echo 'no npm peers' >&2
fi
awk -v misses="$dir/missed" -f bench/table.awk -f bench/store.awk "$out"

# Where the time goes: MEASURE COMMAND…
profile() {
	printf '\nprofile of %s, percent of the time of the processor\n' "$1"
	shift
	if perf record -q -F 5000 -o "$dir/perf" "$@" >"$dir/perf.txt" 2>&1; then
		perf report -q --stdio --percent-limit 1 --sort symbol -i "$dir/perf" 2>/dev/null | sed '/^$/d; s/ *- *- *$//' | head -12
	else
		head -3 "$dir/perf.txt"
	fi
}

[ -s "$dir/missed" ] || exit 0
if ! command -v perf >/dev/null; then
	echo 'no perf (Debian: apt install linux-perf), so no profile of what was missed'
	exit 0
fi
sort -u "$dir/missed" | while read -r missed; do
	case $missed in
	open | plan | plan-public) profile "$missed" "$timer" "$missed" "$dir/big" 1001 ;;
	exact-*) profile "$missed" "$timer" exact "$dir/big" 101 ;;
	rebuild | fork | append) profile "$missed" "$timer" "$missed" "$dir/big" 21 ;;
	list) profile list "$timer" list "$dir/many" 21 ;;
	parallel) profile parallel "$timer" parallel "$dir/parallel" 64 100 ;;
	search) profile search "$timer" search "$dir/big" 21 "$query" ;;
	turn-* | first-turn-*) profile "$missed" "$timer" turn "$dir/turn" 2400 ;;
	esac
done
