// Writes the screenshots of docs/dashboard.md from a running `windlass demo --watch`, whose history fills the charts:
//
//   WINDLASS_BIN=target/release/windlass node crates/server/tests/browser/screenshots.js http://127.0.0.1:7700
//
// Each is cut to the first screens, and reduced to a palette by `pngquant`.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync } from "node:fs";

import { Browser } from "./lib/browser.js";
import { ROOT } from "./lib/modules.js";
import { Server } from "./lib/server.js";

const [url] = process.argv.slice(2);
if (!url) throw new Error("the address of a running `windlass demo --watch` is missing");
const FOLDER = `${ROOT}docs/images/dashboard/`;
const VIEWS = [
  { name: "390", colorScheme: "light", viewport: { width: 390, height: 844 }, height: 1700 },
  { name: "1280", colorScheme: "light", viewport: { width: 1280, height: 800 }, height: 1200 },
  { name: "1920", colorScheme: "light", viewport: { width: 1920, height: 1080 }, height: 1200 },
  { name: "1280-dark", colorScheme: "dark", viewport: { width: 1280, height: 800 }, height: 1200 },
];

async function call(method, path) {
  const reply = await fetch(`${url}/v1${path}`, { method });
  if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`);
  return reply.json();
}

// Does what operators do, so that the log of actions has entries, and returns the pages.
async function prepare() {
  for (const path of ["/queues/webhooks/pause", "/queues/webhooks/resume", "/queues/reports/schedules/nightly/run"]) {
    await call("POST", path).catch((error) => { if (!/409|404/.test(error.message)) throw error; });
  }
  const { jobs } = await call("GET", "/queues/images/jobs?state=dead&limit=3");
  await call("POST", `/queues/images/jobs/${jobs[1].id}/retry`);
  const { groups } = await call("GET", "/queues/webhooks/groups");
  return [
    ["overview", "/"],
    ["queue", "/queues/webhooks"],
    ["group", `/queues/webhooks/groups/${groups[0].group}`],
    ["settings", "/queues/webhooks/settings"],
    ["purge", "/queues/webhooks/purge"],
    ["jobs", "/queues/images/jobs?state=dead", 900],
    ["bulk", "/queues/images/bulk/retry?state=dead"],
    ["job", `/queues/images/jobs/${jobs[0].id}`],
    ["errors", "/errors"],
    ["workers", "/workers"],
    ["schedules", "/schedules"],
    ["actions", "/actions"],
    ["api", "/docs", 900],
  ];
}

async function shoot(page, file, height) {
  const full = await page.evaluate(() => document.documentElement.scrollHeight);
  const { width } = page.viewportSize();
  await page.screenshot({ path: file, fullPage: true, animations: "disabled", clip: { x: 0, y: 0, width, height: Math.min(full, height) } });
  const { status } = spawnSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--speed", "1", "--ext", ".png", "40", file], { stdio: "inherit" });
  // 98: the palette would be larger than the file.
  if (status !== 0 && status !== 98) throw new Error("pngquant failed; install it with `apt-get install pngquant`");
}

mkdirSync(FOLDER, { recursive: true });
const pages = await prepare();
const server = await Server.start();
const browser = await Browser.start({ url });
for (const { name, height, ...view } of VIEWS) {
  const page = await browser.visit(null, { ...view, timezoneId: "UTC" });
  for (const [what, path, most = height] of pages) {
    await page.goto(url + path);
    // Health and history come with a live update if they were not known yet.
    if (what === "overview") await page.locator("#health .findings, #health .tag").first().waitFor();
    await shoot(page, `${FOLDER}${what}-${name}.png`, Math.min(most, height));
  }
  await page.goto(`${server.url}/sign-in`);
  await shoot(page, `${FOLDER}sign-in-${name}.png`, view.viewport.height);
  await page.context().close();
}
await browser.close();
await server.close();
const sizes = readdirSync(FOLDER).map((file) => [statSync(FOLDER + file).size, file]).toSorted(([a], [b]) => b - a);
console.log(`${sizes.length} files, ${sizes.reduce((sum, [size]) => sum + size, 0)} bytes; the largest: ${sizes.slice(0, 5).join(" ")}`);
