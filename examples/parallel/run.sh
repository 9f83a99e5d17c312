#!/usr/bin/env bash
# The runs of a sweep or of a published table on the GPUs of one machine with GNU parallel, then their table:
#
#   GPUS=4 examples/parallel/run.sh reproduce cclk-table3 --data ./mnist --seeds 3
#
# `simile ... --jobs 4 --device cuda:0,cuda:1,cuda:2,cuda:3` does the same in one process. Here every run is a process of
# its own, which is tried twice, and the log of parallel has its time and exit code. SIMILE names the program. The runs take
# the first GPUs of the list in CUDA_VISIBLE_DEVICES, where there is one.
set -euo pipefail
# parallel ends with a code of its own, after which the script would go on.
trap 'exit 130' INT
trap 'exit 143' TERM
export SIMILE=${SIMILE:-simile}
gpus=${GPUS:-1}
IFS=, read -ra devices <<<"${CUDA_VISIBLE_DEVICES-$(seq -s , 0 $((gpus - 1)))}"
# An empty list hides all GPUs, so that the runs take the CPU.
if [ "${#devices[@]}" != 0 ] && [ "$gpus" -gt "${#devices[@]}" ]; then
  echo "GPUS is $gpus, and CUDA_VISIBLE_DEVICES has ${#devices[@]}: $CUDA_VISIBLE_DEVICES" >&2
  exit 2
fi
export DEVICES=${devices[*]}

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
    bash -c 'devices=($DEVICES); CUDA_VISIBLE_DEVICES=${devices[$1 - 1]} exec "$SIMILE" "${@:3}" --task "$2"' \
    run {%} {} "$@" \
    ::: "${indices[@]}" || true
done <<<"$rounds"
exec "$SIMILE" "$@"
