#!/usr/bin/env bash
# Inside loopback.sh: cancels a task of a sweep of its own, which has to stay cancelled. Then submits a sweep of two runs
# with examples/slurm/submit.sh, puts the first back into the queue in its middle and has it resume on the other node,
# signals the second as Slurm does before the end of its time, and waits for the collector, whose exit code it ends with.
#   requeue.sh SUBMIT ARGUMENTS...      (with `--out swept` among them)
set -euo pipefail
submit=$1
shift

# The run of a cancelled task ends with the code of one that is to go on.
cancelled=("${@/#swept/cancelled}")
array=$(sbatch --parsable --array=0 "$(dirname "$submit")/task.sbatch" "${cancelled[@]}")
folder=$("$SIMILE" "${cancelled[@]}" --list | cut -f 2 | sed -n 1p)
until grep -qsE '"iteration": ?[1-9]' "$folder/state/state.json"; do sleep 0.1; done
scancel "${array}_0"
state=RUNNING
while [[ $state = RUNNING || $state = COMPLETING ]]; do
  sleep 0.2
  state=$(scontrol show job "${array}_0" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p')
done
if [ "$state" != CANCELLED ]; then
  echo "the cancelled task is $state"
  exit 1
fi

said=$("$submit" "$@")
echo "$said"
array=$(sed -n 's/^array \([0-9]*\):.*/\1/p' <<<"$said")
collector=$(sed -n 's/^collector //p' <<<"$said")
mapfile -t folders < <("$SIMILE" "$@" --list | cut -f 2)

for folder in "${folders[@]}"; do
  until grep -qsE '"iteration": ?[1-9]' "$folder/state/state.json"; do sleep 0.1; done
done
node=$(squeue --noheader --jobs "${array}_0" --format %N)
scontrol requeue "${array}_0"
scancel --batch --signal=TERM "${array}_1"
# A job that was put back begins after two minutes, unless it is told to begin now.
for task in 0 1; do
  until [ "$(squeue --noheader --jobs "${array}_$task" --format %t)" = PD ]; do sleep 0.2; done
  [ "$task" = 1 ] || scontrol update JobId="${array}_$task" ExcNodeList="$node"
  scontrol update JobId="${array}_$task" StartTime=now
done
until [ -z "$(squeue --noheader --jobs "$collector" --states PENDING,RUNNING,COMPLETING 2>/dev/null)" ]; do sleep 0.2; done
if scontrol show job "${array}_0" | grep -q "^ *NodeList=$node\$"; then
  echo "run 0 went on on the same node, $node"
  exit 1
fi
code=$(scontrol show job "$collector" | sed -n 's/.*ExitCode=\([0-9]*\):.*/\1/p')
exit "$code"
