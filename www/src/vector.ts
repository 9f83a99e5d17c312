// Vectors of numbers.

/** The vector divided by its length. */
export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((value) => value / length);
}

/** The inner product. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** The rows of a matrix, each a view into it. */
export function rowsOf(data: Float32Array, length: number): Float32Array[] {
  return Array.from({ length: data.length / length }, (_, at) => data.subarray(at * length, (at + 1) * length));
}
