#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/window.sh BUILD
# Planning beside @langchain/core's trimMessages, which is installed into .deps/bench (pinned). What cannot be
# installed is said and left out.
set -eu
build=$1
into=.deps/bench
command -v node >/dev/null || { echo 'node is not installed: no peer' >&2; "$build/bench/time_window" 1000 10000 100000; exit 0; }
mkdir -p $into
[ -f $into/package.json ] || echo '{"private":true}' >$into/package.json
[ -d $into/node_modules/@langchain/core ] ||
	(cd $into && npm install --silent --no-audit --no-fund @langchain/core@0.3.80 >/dev/null 2>&1) ||
	echo '@langchain/core could not be installed' >&2
exec node bench/window.mjs --timer "$build/bench/time_window" --modules $into/node_modules
