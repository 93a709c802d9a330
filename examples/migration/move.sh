#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool move: {"file":"lib/books/f001.c"} on standard input; that file of the workspace in the new API.
file=$(sed -n 's/.*"file": *"\([a-z0-9/]*\.c\)".*/\1/p')
cd "$BOBBIN_WORKSPACE" || exit 1
uses=$(grep -c 'old_' "$file") || exit 1
sed -i -e 's/old_open(\([^)]*\))/store_open(\1, STORE_READ)/' -e 's/old_close(/store_close(/' "$file"
echo "$file: $uses lines changed"
