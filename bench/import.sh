#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: bench/import.sh BUILD
# What the importer makes of each real transcript below BOBBIN_TRANSCRIPTS, and how fast; without that, of the samples
# that the fuzzer starts from, whose times say little.
set -eu
folder=${BOBBIN_TRANSCRIPTS:-fuzz/corpus/import}
[ -n "${BOBBIN_TRANSCRIPTS:-}" ] || echo 'BOBBIN_TRANSCRIPTS names no folder of transcripts: small samples instead' >&2
find "$folder" -type f ! -name '*.tsv' -size +0 | sort | tr '\n' '\0' | xargs -0 "$1/bench/time_import"
