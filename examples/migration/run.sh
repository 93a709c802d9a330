#!/bin/sh
# SPDX-License-Identifier: MIT
# The migration of examples/migration/README.md, from nothing: 101 files, a worker, its resume test. BOBBIN says which bobbin
# (default: the one on the PATH). Everything happens in a folder of its own, which is removed again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bobbin=${BOBBIN:-bobbin}
case $bobbin in */*) bobbin=$(cd "$(dirname "$bobbin")" && pwd)/$(basename "$bobbin") ;; esac
place=$(mktemp -d)
trap 'kill "$worker" 2>/dev/null; rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
cp "$here/tools.json" "$here"/*.sh "$place"
python3 "$here/worker.py" > "$place/port" &
worker=$!
cd "$place"

# 101 files of five teams, in the workspace of session `move`. Programs may work there directly.
mkdir -p .sessions/move
chmod 700 .sessions .sessions/move
number=0
for team in books films games music news; do
	mkdir -p ".sessions/move/lib/$team"
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do
		number=$((number + 1))
		[ "$number" -le 101 ] || break
		name=$(printf 'f%03d' "$number")
		printf '#include "store.h"\n\nint %s(const char *name)\n{\n\tint file = old_open(name);\n\told_close(file);\n\treturn file;\n}\n' \
			"$name" > ".sessions/move/lib/$team/$name.c"
	done
done
while [ ! -s port ]; do sleep 0.1; done
BOBBIN_MODEL=openai:worker@http://127.0.0.1:$(cat port)
export BOBBIN_MODEL

"$bobbin" --quiet chat --session move --tools tools.json --window 24000 \
	"Move each file in lib/ to the new API, and send one mail per team. Never send a mail twice."
echo
echo "mails sent: $(grep -c . outbox)"
"$bobbin" resume-test move --tools tools.json --window 24000 --done '! grep -rq old_ lib'
