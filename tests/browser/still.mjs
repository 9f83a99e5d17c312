// A page that has come to rest.

/** Waits until no colour of a page fades any more, and what it draws is drawn. */
export async function rests(page) {
  const frames = () =>
    page.evaluate(async () => {
      for (let at = 0; at < 2; at++) await new Promise(requestAnimationFrame);
    });
  await frames();
  // Within the page's timeout, which an evaluation does not have.
  await page.waitForFunction(() => !document.getAnimations().some(({ playState }) => playState === "running"));
  await frames();
}
