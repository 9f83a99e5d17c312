// The frames that a page asks for.

/** Counts them from now on; gives a function that tells how many were `asked` for, and how many `shown`. */
export async function countFrames(page) {
  await page.evaluate(() => {
    const request = (window.requestFrame ??= window.requestAnimationFrame);
    const [frames, times] = [{ asked: 0, shown: 0 }, new Set()];
    window.requestAnimationFrame = (draw) => {
      frames.asked++;
      return request((time) => {
        frames.shown = times.add(time).size;
        draw(time);
      });
    };
    window.countedFrames = frames;
  });
  return () => page.evaluate(() => window.countedFrames);
}
