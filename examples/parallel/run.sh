#!/usr/bin/env bash
# The runs of a sweep or of a published table on the GPUs of one machine with GNU parallel, then their table:
#
#   GPUS=4 examples/parallel/run.sh reproduce cclk-table3 --data ./mnist --seeds 3
#
# `simile ... --jobs 4 --device cuda:0,cuda:1,cuda:2,cuda:3` does the same in one process. Here every run is a process of
# its own, which is tried twice, and the log of parallel has its time and exit code. SIMILE names the program.
set -euo pipefail
export SIMILE=${SIMILE:-simile}
gpus=${GPUS:-1}

list=$("$SIMILE" "$@" --list)
# A line of indices for all runs that can be done at the same time: a run waits for the one whose encoder it begins with.
rounds=$(awk -F '\t' '
  { level[$1] = $5 == "-" ? 0 : level[$5] + 1 }
  $6 == "missing" { at = level[$1]; runs[at] = runs[at] " " $1; if (at > last) last = at }
  END { for (at = 0; at <= last; at++) if (runs[at] != "") print runs[at] }
' <<<"$list")

while read -ra indices; do
  [ "${#indices[@]}" = 0 ] && continue
  # {%} is the place of a job among those at the same time, from 1. A run that fails does not stop the others.
  parallel --will-cite --quote --jobs "$gpus" --retries 2 --joblog +parallel.log --tagstring 'run {}' --line-buffer \
    bash -c 'CUDA_VISIBLE_DEVICES=$(($1 - 1)) exec "$SIMILE" "${@:3}" --task "$2"' run {%} {} "$@" \
    ::: "${indices[@]}" || true
done <<<"$rounds"
exec "$SIMILE" "$@"
