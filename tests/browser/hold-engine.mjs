// WebAssembly that is on its way.

/** Has a page wait for WebAssembly until the function that this gives is called. */
export async function holdEngine(page) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/*.wasm", async (route) => {
    await released;
    await route.continue();
  });
  return async () => {
    release();
    // A page with routes has no cache.
    await page.unrouteAll({ behavior: "wait" });
  };
}
