#!/usr/bin/env bash
# Images a second of a step in one process and in two, with one thread each, three times. The argument is a program that was built
# with `--features mpi`. The machine needs two cores that do nothing else.
set -euo pipefail
program=$(realpath "$1")
recipe=$(realpath "$(dirname "$0")/scaling.toml")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for turn in 1 2 3; do
  for count in 1 2; do
    printf 'turn %s, %s processes: ' "$turn" "$count"
    # The last note covers the last four steps, without the first one.
    RAYON_NUM_THREADS=1 mpirun --allow-run-as-root --bind-to core -n "$count" \
      "$program" train "$recipe" --out "$place/$turn-$count" 2>&1 | grep -o '[0-9]* images/s' | tail -n 1
  done
done
