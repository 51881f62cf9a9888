// Opens a page in headless Chromium as a reader would, and prints what was seen as JSON.
// node look_at.mjs CHROMIUM MODULES PAGE SCREENSHOTS
import { createRequire } from "node:module";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [, , chromium, modules, page, screenshots] = process.argv;
const load = createRequire(join(modules, "index.js"));
const puppeteer = (await import(load.resolve("puppeteer-core"))).default;
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const seen = { console: [], requests: [], widths: {}, violations: {}, charts: {} };

const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
const tab = await browser.newPage();
tab.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
tab.on("pageerror", (error) => seen.console.push(`error: ${error.message}`));
tab.on("request", (request) => seen.requests.push(request.url()));

for (const scheme of ["light", "dark"]) {
  for (const width of [375, 1280]) {
    const name = `${width}-${scheme}`;
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await tab.setViewport({ width, height: 900 });
    await tab.goto(page, { waitUntil: "load" });
    await tab.waitForSelector(".timeline.live canvas");
    await tab.screenshot({ path: join(screenshots, `first-${name}.webp`), type: "webp", quality: 60 });
    await tab.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
    seen.widths[name] = await tab.evaluate(() => document.documentElement.scrollWidth);
    seen.charts[name] = await tab.evaluate(() => [...document.querySelectorAll("canvas")].map((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const colours = new Set();
      for (let at = 0; at < data.length; at += 4) if (data[at + 3]) colours.add(data.slice(at, at + 3).join());
      return colours.size;
    }));
    await tab.evaluate(() => { for (const part of document.querySelectorAll("details")) part.open = true; });
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => axe.run());
    seen.violations[name] = found.violations.map(({ id, impact, nodes }) => [id, impact, nodes[0].html]);
  }
}

// The narrowest telephone and the widest screen, with everything unfolded.
for (const width of [320, 2560]) {
  await tab.setViewport({ width, height: 900 });
  await tab.goto(page, { waitUntil: "load" });
  await tab.evaluate(() => { for (const part of document.querySelectorAll("details")) part.open = true; });
  seen.widths[`${width}-dark`] = await tab.evaluate(() => document.documentElement.scrollWidth);
}

// Every chart is saved as a reader saves it: by its buttons, into files.
const session = await tab.createCDPSession(), folder = join(screenshots, "saved");
mkdirSync(folder);
await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
const saved = () => readdirSync(folder).filter((name) => /(csv|png)$/.test(name)).length;
const buttons = await tab.$$(".save button");
seen.buttons = buttons.length;
for (const [number, button] of buttons.entries()) {
  await button.evaluate((element) => element.click());
  // Chromium refuses more than ten downloads a second.
  for (let turn = 0; turn < 1 || (turn < 20 && saved() <= number); turn += 1) {
    await new Promise((done) => setTimeout(done, 120));
  }
}

// With the keyboard alone: through the closed folds, to the findings, and into the first closed one.
await tab.goto(page, { waitUntil: "load" });
await tab.keyboard.press("Tab");
seen.firstStop = await tab.evaluate(() => document.activeElement.textContent);
seen.opened = null;
for (let stop = 0; stop < 200 && seen.opened === null; stop += 1) {
  await tab.keyboard.press("Tab");
  const closed = await tab.evaluate(() => {
    const { tagName, parentElement } = document.activeElement;
    return tagName === "SUMMARY" && !parentElement.open;
  });
  if (closed) {
    await tab.keyboard.press("Enter");
    seen.opened = await tab.evaluate(() => {
      const { parentElement } = document.activeElement;
      return parentElement.matches(".finding") ? parentElement.open : null;
    });
  }
}

// A step is shown, and the colours are changed, without a mouse.
const range = () => tab.evaluate(() => document.querySelector("canvas").getContext("2d").canvas.toDataURL());
const whole = await range();
await tab.select("#range", "0");
await new Promise((done) => setTimeout(done, 200));
seen.zoomed = (await range()) !== whole;
await tab.select("#theme", "light");
seen.light = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
await tab.select("#theme", "dark");
seen.dark = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);

await tab.setViewport({ width: 718, height: 1000 });
await tab.emulateMediaType("print");
await tab.evaluate(() => dispatchEvent(new Event("beforeprint")));
seen.printed = await tab.evaluate(() => ({
  canvases: [...document.querySelectorAll("canvas")].filter((canvas) => canvas.checkVisibility()).length,
  drawings: [...document.querySelectorAll(".timeline > svg")].filter((svg) => svg.checkVisibility()).length,
  closed: document.querySelectorAll("details:not([open]):not(.more)").length,
  paper: getComputedStyle(document.body).backgroundColor,
}));
await tab.screenshot({ path: join(screenshots, "print.png"), fullPage: true });
await browser.close();
console.log(JSON.stringify(seen));
