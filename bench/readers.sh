#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/readers.sh BUILD
# The real readers of exported sessions and of requests: pi, Claude Code and Codex, and the types of the Anthropic and OpenAI SDKs,
# installed into .deps/bench (pinned, about 1 GB, of which the two products are most). Each product runs in an empty home against a
# provider on this machine. What cannot be installed is said and left out. docs/readers.md says what came of it.
set -eu
build=$1
command -v node >/dev/null || { echo 'skipped: node is not installed' >&2; exit 0; }
into=.deps/bench
mkdir -p $into
[ -f $into/package.json ] || echo '{"private":true}' >$into/package.json
for peer in @mariozechner/pi-coding-agent@0.73.1 @anthropic-ai/sdk@1.14.0 openai@7.59.0 typescript@5.9.3 @types/node@20.19.0 \
	@anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0; do
	[ -d "$into/node_modules/${peer%@*}" ] && continue
	(cd $into && npm install --silent --no-audit --no-fund "$peer" >/dev/null 2>&1) ||
		echo "$peer could not be installed" >&2
done
BOBBIN_MODULES=$PWD/$into/node_modules BOBBIN_READERS=all exec tools/run-tests "$build" cli/readers
