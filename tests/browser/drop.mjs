// Files and folders of this machine, dragged into a page from outside.

/** Drops them in the middle of what is to be seen. */
export async function drop(page, paths) {
  const session = await page.context().newCDPSession(page);
  const { width, height } = page.viewportSize();
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: width / 2, y: height / 2, data });
  }
  await session.detach();
}
