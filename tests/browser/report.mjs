// Reads the report of a run as a visitor would; screenshots go to `screenshots`.
// A job: { report, webgpu, screenshots }; `report` is the path of the page, which is opened as a file.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { audit } from "./audit.mjs";
import { isWide } from "./narrow.mjs";
import { shotsOf } from "./shots.mjs";

export default async function (job, page) {
  const requests = [];
  page.on("request", (request) => request.url().startsWith("data:") || requests.push(request.url()));
  const shot = shotsOf(page, job, "report");
  await page.goto(pathToFileURL(job.report).href);
  const result = { violations: await audit(page, "report") };
  await page.emulateMedia({ colorScheme: "light" });

  // A point under the pointer, in the first map; the last points are drawn above the others.
  const maps = page.locator(".maps").first();
  const point = maps.locator(".plane:visible circle").last();
  const colour = () => point.evaluate((circle) => getComputedStyle(circle).fill);
  const tip = maps.locator(".tip");
  await point.scrollIntoViewIfNeeded();
  result.hiddenBefore = await tip.isHidden();
  await point.hover();
  result.point = Number(await point.getAttribute("data-i"));
  result.said = await tip.locator("span").textContent();
  result.thumbnail = await tip.locator("i").evaluate((image) => {
    const { backgroundImage, backgroundPosition, width } = getComputedStyle(image);
    return { isPicture: backgroundImage.startsWith('url("data:image/'), backgroundPosition, width };
  });
  result.facts = JSON.parse(await maps.locator("script").textContent());
  const { x, y, width, height } = await tip.boundingBox();
  result.isWithin = x >= 0 && y >= 0 && x + width <= 1280 && y + height <= 900;
  await page.screenshot({ path: join(job.screenshots, "report-pointed.png") });
  await page.mouse.move(2, 2);
  result.hiddenAfter = await tip.isHidden();

  // The colouring is a matter of choice.
  const byAttribute = await colour();
  await maps.locator("label", { hasText: /^class$/ }).click();
  result.isRecoloured = (await colour()) !== byAttribute;

  // A curve says what it is under the pointer and under the arrow keys.
  const curve = page.locator("figure.curve").first();
  await curve.locator("svg").hover();
  result.hovered = await curve.locator("output").textContent();
  await page.mouse.move(2, 2);
  await curve.focus();
  await page.keyboard.press("Home");
  result.first = await curve.locator("output").textContent();
  await page.keyboard.press("End");
  result.last = await curve.locator("output").textContent();

  await page.evaluate(() => scrollTo(0, 0));
  await shot("light");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  result.overflow = await isWide(page);
  result.requests = requests.length;
  return result;
}
