// Long work in slices, between which the page stays responsive.

/**
 * Milliseconds of a slice: together with other work of the page, a task stays below 50, above which a delay is
 * noticeable.
 */
const SLICE = 16;

/** Work that can be interrupted between its steps. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps at once, for small work. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Runs the steps in slices. */
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
