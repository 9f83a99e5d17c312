// The width of a page where it has little room.

/** Widths of a display, with sizes of the browser's font: the narrowest display that a page has to fit, and large text on phones. */
const ROOMS = [
  [320, 16],
  [375, 24],
  [320, 32],
];

/** True if a page is wider than its display. */
export function isWide(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}

/** The rooms that a page is too wide for, each as a line that names what sticks out. */
export async function overflows(page) {
  const session = await page.context().newCDPSession(page);
  const before = page.viewportSize();
  const lines = [];
  for (const [width, standard] of ROOMS) {
    await page.setViewportSize({ width, height: 800 });
    await session.send("Page.setFontSizes", { fontSizes: { standard } });
    const [by, wide] = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const isWide = (each) => each.getBoundingClientRect().right > clientWidth + 0.5 && !each.closest(".math");
      const all = [...document.querySelectorAll("body *")].filter(isWide);
      return [scrollWidth - clientWidth, all.map(({ localName, id }) => (id ? `${localName}#${id}` : localName))];
    });
    if (by > 0) lines.push(`${width} pixels, font of ${standard}: by ${by}, ${wide.join(" ")}`);
  }
  await session.send("Page.setFontSizes", { fontSizes: { standard: 16 } });
  await session.detach();
  await page.setViewportSize(before);
  return lines;
}
