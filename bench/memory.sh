#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/memory.sh BUILD
# Facts: whether the right ones are found, on LoCoMo's questions if BOBBIN_TRANSCRIPTS names a folder with locomo/*.json, beside
# SQLite's FTS5 in the same run; and what it costs with FACTS facts (default 100,000) of one owner. MEMORY_BENCH names a folder
# to work in (default .deps/bench/memory, made and removed).
set -eu
build=$1
dir=${MEMORY_BENCH:-.deps/bench/memory}
timer=$build/bench/time_memory
out=$dir.txt
rm -rf "$dir" && mkdir -p "$dir"
trap 'rm -rf "$dir" "$out"' EXIT
: >"$out"

found=
for file in "${BOBBIN_TRANSCRIPTS:-}"/locomo/*.json; do
	[ -f "$file" ] || continue
	found=1
	$timer locomo "$dir/locomo" "$file" >>"$out"
	for talk in 0 1 2 3 4 5; do
		$timer unrelated "$dir/locomo" talk-$talk | sed 's/^unrelated/locomo-unrelated/' >>"$out"
	done
	break
done
[ "$found" ] || echo 'LoCoMo was not measured: BOBBIN_TRANSCRIPTS names no folder with locomo/*.json'

$timer make "$dir/facts" "${FACTS:-100000}"
{
	$timer search "$dir/facts" 2000
	$timer unrelated "$dir/facts" ana
	$timer plan "$dir/facts" 501
	"$build/bench/time_store" process search-process 51 "$build/bobbin" --store "$dir/facts" memory search --owner ana \
		'Where did I get the water for the garden?'
	"$build/bench/time_store" process process-floor 51 "$build/bobbin" help
	$timer add "$dir/facts" 501
} >>"$out"
awk -f bench/table.awk -f bench/memory.awk "$out"
