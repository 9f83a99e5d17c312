// Long work in slices, between which the page answers to its visitor.

/** Milliseconds of a slice: with what a page does besides, a task stays below the 50 that one feels. */
const SLICE = 16;

/** Work that can be left between its steps. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does small work from its beginning to its end. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Does work in slices. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve));
    const end = performance.now() + SLICE;
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (performance.now() < end);
  }
}
