/** How many workers a page has once those that were told to stop have stopped. */
export async function workersLeft(page) {
  const deadline = Date.now() + 10_000;
  while (page.workers().length > 0 && Date.now() < deadline) await page.waitForTimeout(50);
  return page.workers().length;
}
