#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/store.sh BUILD
# The store at scale beside raw write+fdatasync, SQLite and the npm peers that can be installed (into .deps/bench,
# pinned). STORE_BENCH names a folder on the disk to measure (default .deps/bench/store, made and removed), MESSAGES and
# BYTES the large session.
set -eu
build=$1
into=.deps/bench
dir=${STORE_BENCH:-$into/store}
messages=${MESSAGES:-100000}
bytes=${BYTES:-200000000}
timer=$build/bench/time_store
out=$dir.txt
mkdir -p $into
rm -rf "$dir" && mkdir -p "$dir"
trap 'rm -rf "$dir" "$out"' EXIT

$timer make "$dir/big" "$messages" "$bytes"
for what in 'rebuild 5' 'open 101' 'plan 1001' 'append 301' 'fork 51' 'bytes 1024'; do
	$timer ${what% *} "$dir/big" ${what#* }
done >"$out"
$timer raw-parallel "$dir/parallel" 64 100 >>"$out"
$timer parallel "$dir/parallel" 64 100 >>"$out"
$timer sessions "$dir/many" 10000
$timer list "$dir/many" 11 >>"$out"
if command -v node >/dev/null; then
	[ -f $into/package.json ] || echo '{"private":true}' >$into/package.json
	for peer in @mariozechner/pi-coding-agent@0.73.1 better-sqlite3@12.6.2; do
		[ -d "$into/node_modules/${peer%@*}" ] && continue
		(cd $into && npm install --silent --no-audit --no-fund "$peer" >/dev/null 2>&1) ||
			echo "$peer could not be installed" >&2
	done
	node bench/store.mjs "$dir" "$messages" "$bytes" $into/node_modules >>"$out" || echo 'no npm peers' >&2
fi
awk '
function ratio(name, key, peer, other) {
	if (value[name, key] && value[peer, other ? other : key])
		printf "  (%s is %.2f of %s)", name, value[name, key] / value[peer, other ? other : key], peer
}
function row(text, name, key, factor, unit, must) {
	printf "%-46s", text
	if ((name, key) in value)
		printf "%10.2f %-4s must %s", value[name, key] * factor, unit, must
	else
		printf "%10s", "-"
}
{ for (i = 2; i + 1 <= NF; i += 2) value[$1, $i] = $(i + 1) }
END {
	row("open and plan, warm", "open", "p50_us", 1e-3, "ms", "2"); ratio("pi-open", "p50_us", "open"); print ""
	row("peak memory of that", "open", "peak_kib", 1 / 1024, "MiB", "30"); print ""
	row("rebuild a missing index, with its writing", "rebuild", "p50_us", 1e-3, "ms", "250"); print ""
	row("plan from an open session", "plan", "p50_us", 1, "us", "10"); print ""
	row("fork, durable", "fork", "p50_us", 1e-3, "ms", "1"); ratio("fork", "p50_us", "raw"); print ""
	row("bytes of a fork", "fork", "bytes", 1, "B", "4096"); print ""
	row("one durable append", "append", "p50_us", 1, "us", "1/0.9 of raw"); ratio("raw", "p50_us", "append"); print ""
	row("raw write and fdatasync", "raw", "p50_us", 1, "us", "-"); print ""
	row("SQLite, WAL, FULL", "sqlite", "p50_us", 1, "us", "-"); ratio("sqlite", "p50_us", "append"); print ""
	row("better-sqlite3, FULL", "better-sqlite3", "p50_us", 1, "us", "-"); ratio("better-sqlite3", "p50_us", "append"); print ""
	row("pi, append (does not sync)", "pi-append", "p50_us", 1, "us", "-"); print ""
	row("bytes written beyond the message", "append", "bytes_beyond", 1, "B", "300"); print ""
	row("64 sessions in parallel, a second", "parallel", "per_second", 1, "", "0.85 of raw"); ratio("parallel", "per_second", "raw-parallel"); print ""
	row("  99th percentile", "parallel", "p99_us", 1e-3, "ms", "5"); ratio("parallel", "p99_us", "raw-parallel"); print ""
	row("list 10,000 sessions", "list", "p50_us", 1e-3, "ms", "100"); print ""
}' "$out"
