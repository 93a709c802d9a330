#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/search.sh BUILD
# Exact search over one session beside ripgrep over its log, whole processes in turn: medians, and hits compared. Like is compared
# with like: what only counts with rg --count, what gives each match as JSON with rg --json.
# SEARCH_BENCH names a folder to work in (default .deps/bench/search, made and removed), MESSAGES and BYTES the session, RUNS
# how often.
set -eu
build=$1
dir=${SEARCH_BENCH:-.deps/bench/search}
command -v rg >/dev/null || { echo 'ripgrep is not installed: tools/setup bench' >&2; exit 1; }
rm -rf "$dir" && mkdir -p "$dir"
trap 'rm -rf "$dir"' EXIT
"$build/bench/time_store" make "$dir" "${MESSAGES:-100000}" "${BYTES:-200000000}"
printf '%s\n' '{"role":"user","content":"where is the needle in all this hay?"}' |
	"$build/bobbin" --store "$dir" append main >/dev/null
"$build/bench/time_search" "${RUNS:-31}" "$dir" main "$build/bobbin" rg \
	'needle' 'needle in all this' 'nothing of the kind' 'größer 12' 'if (error)' |
	awk -F'\t' '
	BEGIN { printf "%-20s %8s  %-32s %9s %9s %6s  %s\n", "", "messages", "", "bobbin", "ripgrep", "ratio", "must <= 1.20" }
	function row(name, what, ours, theirs, must) {
		printf "%-20s %8s  %-32s %6.1f ms %6.1f ms %6.2f  %s\n", name, name == "" ? "" : f[2], what, ours, theirs, ours / theirs,
			must ? ours <= 1.2 * theirs ? "met" : "MISSED" : ""
	}
	{
		split($2, f, " ")
		row($1, "counted (--count, rg -c)", f[6], f[8], 1)
		row("", "  in the library", f[10], f[8], 0)
		row("", "each as JSON (--json, rg --json)", f[12], f[14], 1)
		if (f[2] != f[4])
			print "HITS DIFFER: ripgrep has " f[4]
	}'
