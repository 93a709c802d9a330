#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool find_uses: {"of":"old_open"} on standard input; where that is used, in the files of the workspace.
name=$(sed -n 's/.*"of": *"\([a-z_]*\)".*/\1/p')
cd "$BOBBIN_WORKSPACE" && grep -rn "$name" lib | sort
