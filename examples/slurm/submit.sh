#!/usr/bin/env bash
# The runs of a sweep or of a published table as tasks of Slurm, one run a task with a GPU of its own, and a job that
# collects them. On the login node, in a folder that all nodes see:
#
#   examples/slurm/submit.sh reproduce cclk-table3 --data /data/mnist --seeds 3
#   examples/slurm/submit.sh sweep hospital.toml --data /data/scans --variant "hide hospital" \
#     --set data.validation=400 --grid train.batch=128,256
#
# Runs that have finished are left out, so that the same command submits what is still missing. Runs that begin with the
# encoder of others are an array of their own, which waits for these. SBATCH_PARTITION, SBATCH_TIMELIMIT and the like are
# sbatch's own variables; AT_ONCE=16 bounds the tasks at a time, and SIMILE names the program.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export SIMILE=${SIMILE:-simile}

list=$("$SIMILE" "$@" --list)
# A line of indices for each array: index is field 1, the run that must be there first is field 5.
arrays=$(awk -F '\t' '
  { level[$1] = $5 == "-" ? 0 : level[$5] + 1 }
  $6 == "missing" { at = level[$1]; runs[at] = runs[at] (runs[at] == "" ? "" : ",") $1; if (at > last) last = at }
  END { for (at = 0; at <= last; at++) if (runs[at] != "") print runs[at] }
' <<<"$list")

after=()
while read -r indices; do
  [ -n "$indices" ] || continue
  job=$(sbatch --parsable "${after[@]}" --array="$indices${AT_ONCE:+%$AT_ONCE}" "$here/task.sbatch" "$@")
  echo "array $job: runs $indices"
  after=(--dependency="afterany:$job")
done <<<"$arrays"
echo "collector $(sbatch --parsable "${after[@]}" "$here/collect.sbatch" "$@")"
