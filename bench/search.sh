#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/search.sh BUILD
# Exact search over one session beside ripgrep over its log, whole processes in turn: medians, and hits compared.
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
	awk -F'\t' '{
		split($2, f, " ")
		printf "%-22s %7d messages  bobbin %7.1f ms  ripgrep %7.1f ms  library %7.1f ms  %5.2f of ripgrep (must 1.20)%s\n",
			$1, f[2], f[6], f[8], f[10], f[6] / f[8], f[2] == f[4] ? "" : "  HITS DIFFER: " f[4]
	}'
