#!/bin/sh
# SPDX-License-Identifier: MIT
# Random Unicode strings, and with BOBBIN_SOAK the transcripts too, against npm tiktoken. It is installed by
# `make bench B=tokens`; without it, or without node, this is skipped. N is how many strings, SEED which.
set -u
cd "${BOBBIN_SOURCE:-$(dirname "$0")/../..}" || exit 1
echo 1..1
helper=${BOBBIN_BUILD:-build}/tests/tokens/token_lines modules=.deps/bench/node_modules
if ! command -v node >/dev/null || [ ! -d $modules/tiktoken ]; then
	echo 'ok 1 - every token is that of npm tiktoken # SKIP node or npm tiktoken is not installed'
	exit 0
fi
if [ -n "${BOBBIN_SOAK:-}" ]; then
	count=${N:-$(awk "BEGIN { print int(30000 * $BOBBIN_SOAK) + 1 }")} folder=${BOBBIN_TRANSCRIPTS:-docs}
else
	count=2000 folder=docs
fi
said=$(node tests/tokens/compare_npm.mjs --helper "$helper" --modules $modules --count "$count" --seed "${SEED:-1}" "$folder")
case $? in
0) echo "# $said" && echo "ok 1 - every token is that of npm tiktoken: $said" ;;
77) echo "ok 1 - every token is that of npm tiktoken # SKIP $said" ;;
*)
	echo "$said" | sed 's/^/# /'
	echo 'not ok 1 - every token is that of npm tiktoken'
	exit 1
	;;
esac
