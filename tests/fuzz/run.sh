#!/usr/bin/env bash
# run.sh PROGRAM TARGET FOLDER: runs a target of libFuzzer: 1,000 inputs, or as many as LIMPID_FUZZ_SECONDS has time for. FOLDER keeps the
# inputs worth keeping (corpus/), the output (log) and whatever broke the target (crash-*, timeout-*, oom-*).
set -euo pipefail
program=$1 target=--target=$2 folder=$3
mkdir -p "$folder/corpus"
"$program" "$target" --write="$folder"

# A second is a hang. A test may be held up by others on its machine, though.
limits=(-runs=1000 -timeout=10)
[[ ! -v LIMPID_FUZZ_SECONDS ]] || limits=(-max_total_time="$LIMPID_FUZZ_SECONDS" -timeout=1)

# Out of memory is an Error, and tested: the sanitizer's allocator must say so, not abort.
export ASAN_OPTIONS=allocator_may_return_null=1
"$program" "$target" "${limits[@]}" -max_len=8192 -malloc_limit_mb=64 -rss_limit_mb=2048 \
  -dict="$folder/words" -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus" "$folder/seeds" \
  2>&1 | tee "$folder/log"
