#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/tokens.sh BUILD
# Token counting beside the npm counters, which are installed into .deps/bench (pinned). What cannot be installed is
# said and left out. With BOBBIN_TRANSCRIPTS set, real transcripts are counted too.
set -eu
build=$1
command -v node >/dev/null || { echo 'skipped: node is not installed' >&2; exit 0; }
if ! tools/fetch-ranks --check; then
	tools/fetch-ranks
	tools/fetch-ranks --check || { echo 'skipped: no rank files, so there are only estimates' >&2; exit 0; }
	ninja -C "$build" --quiet
fi
into=.deps/bench
mkdir -p $into
[ -f $into/package.json ] || echo '{"private":true}' >$into/package.json
for peer in tiktoken@1.0.22 ai-tokenizer@1.0.6 gpt-tokenizer@4.0.0 @anysphere/tiktoken-node@0.2.1; do
	[ -d "$into/node_modules/${peer%@*}" ] && continue
	(cd $into && npm install --silent --no-audit --no-fund "$peer" >/dev/null 2>&1) ||
		echo "$peer could not be installed" >&2
done
node tests/tokens/compare_npm.mjs --helper "$build/tests/tokens/token_lines" --modules $into/node_modules \
	${BOBBIN_TRANSCRIPTS:+"$BOBBIN_TRANSCRIPTS"} || [ $? = 77 ]
exec node bench/tokens.mjs --timer "$build/bench/time_tokens" --modules $into/node_modules \
	${BOBBIN_TRANSCRIPTS:+--transcripts "$BOBBIN_TRANSCRIPTS"}
