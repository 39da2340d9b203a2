#!/usr/bin/env bash
# run.sh PROGRAM FOLDER: runs a target of libFuzzer for LIMPID_FUZZ_SECONDS (5 by default). FOLDER keeps what it found
# worth keeping (corpus/), what it said (log) and whatever broke it (crash-*, timeout-*, oom-*).
set -euo pipefail
program=$1 folder=$2 seconds=${LIMPID_FUZZ_SECONDS:-5}
mkdir -p "$folder/corpus"
"$program" --write="$folder"

# A second is a hang. A test of a few seconds may be held up by others on its machine, though.
timeout=1
[[ -v LIMPID_FUZZ_SECONDS ]] || timeout=10

# Out of memory is an Error, and tested: the sanitizer's allocator must say so, not abort.
export ASAN_OPTIONS=allocator_may_return_null=1
"$program" -max_total_time="$seconds" -timeout="$timeout" -max_len=8192 -malloc_limit_mb=64 -rss_limit_mb=2048 \
  -dict="$folder/words" -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus" "$folder/seeds" \
  2>&1 | tee "$folder/log"
