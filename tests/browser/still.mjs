// A page that has come to rest.

/** Waits until no colour of a page fades any more, and what it draws is drawn. */
export function rests(page) {
  return page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    for (let at = 0; at < 2; at++) await frame();
    for (let fading; (fading = document.getAnimations()).length > 0; ) {
      await Promise.allSettled(fading.map(({ finished }) => finished));
    }
    await frame();
  });
}
