#!/usr/bin/env bash
# Runs every fuzz target for its share of the time, one process at a time at the lowest priority.
#
#   fuzz/run.sh [SECONDS] [LOG_FOLDER] [TARGET_FOLDER]
#
# Needs the targets built: cargo +nightly fuzz build -s none -O -a --target-dir TARGET_FOLDER
# Writes LOG_FOLDER/summary.tsv: target, seconds, executions, coverage at start and end, features at
# start and end, crashes. Inputs that crash go to LOG_FOLDER/crashes/. The committed corpus is read, never written.
set -u
here=$(cd "$(dirname "$0")" && pwd)
total=${1:-3600} log=${2:-$here/log} built=${3:-$here/target}
mkdir -p "$log/crashes" "$log/corpus"
# Weights: what decodes the most structure gets the most time.
shares="libsvm:3 idx:3 item_sets:2 packages:2 certificate:4 guarantee:7 ledger:4 journal:7
cli_csv:2 cli_npy:1 cli_idx:1 cli_svmlight:1 cli_parquet:4 cli_arrow:4 cli_sets:1
release_container:5 release_sketch:5 release_units:3 release_signs:6 release_sets:6 release_matrices:6"
sum=0; for s in $shares; do sum=$((sum + ${s#*:})); done
printf 'target\tseconds\texecutions\tcoverage start\tcoverage end\tfeatures start\tfeatures end\tcrashes\n' > "$log/summary.tsv"
for s in $shares; do
  target=${s%:*} seconds=$((total * ${s#*:} / sum))
  program=$built/x86_64-unknown-linux-gnu/release/$target
  for _ in $(seq 120); do [ -x "$program" ] && [ ! -e "$log/building" ] && break; sleep 10; done
  mkdir -p "$log/corpus/$target"
  nice -n 19 "$program" "$log/corpus/$target" "$here/corpus/$target" -max_total_time="$seconds" \
    -timeout=120 -rss_limit_mb=3000 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="$log/crashes/$target-" > "$log/$target.log" 2>&1
  status=$?
  number() { grep -oE "$2: *[0-9]+" <<< "$1" | grep -oE '[0-9]+$'; }
  first=$(grep -m1 INITED "$log/$target.log") last=$(grep -E 'cov: [0-9]+' "$log/$target.log" | tail -1)
  runs=$(grep -oE 'number_of_executed_units: [0-9]+' "$log/$target.log" | grep -oE '[0-9]+$')
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$target" "$seconds" "${runs:-?}" \
    "$(number "$first" cov)" "$(number "$last" cov)" "$(number "$first" ft)" "$(number "$last" ft)" \
    "$([ $status = 0 ] && echo 0 || echo "exit $status")" >> "$log/summary.tsv"
done
cat "$log/summary.tsv"
