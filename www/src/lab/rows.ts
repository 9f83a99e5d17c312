// Rows of numbers: the few operations that points on a sphere need.
export type Row = readonly number[];

export function dot(a: Row, b: Row): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

export function length(row: Row): number {
  return Math.sqrt(dot(row, row));
}

/** `a + factor * b`. */
export function add(a: Row, b: Row, factor = 1): number[] {
  return a.map((value, at) => value + factor * (b[at] ?? 0));
}

/** The row divided by its length; the first axis for a row of no length. */
export function unit(row: Row): number[] {
  const size = length(row);
  return row.map((value, at) => (size > 0 ? value / size : Number(at === 0)));
}

export function squaredDistance(a: Row, b: Row): number {
  return a.reduce((sum, value, at) => sum + (value - (b[at] ?? 0)) ** 2, 0);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
