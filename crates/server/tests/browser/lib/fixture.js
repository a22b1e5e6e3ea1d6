// A server and a browser for the tests of one file.
import { after, before } from "node:test";

import { Browser } from "./browser.js";
import { fill } from "./fill.js";
import { Server } from "./server.js";

// Starts both before the tests, on a filled store, and ends them after. `more` fills in more.
export function fixture(store = "sqlite", options = {}, more = async () => {}) {
  const started = {};
  before(async () => {
    started.server = await Server.start(store, options);
    await fill(started.server);
    await more(started.server);
    started.browser = await Browser.start(started.server);
  });
  after(async () => {
    await started.browser?.close();
    await started.server?.close();
  });
  return started;
}

// Opens a page in the browser, and returns when its script runs and it is live.
export async function openLive(page, path) {
  await page.goto(path);
  await page.locator("#live[data-state=on]").waitFor();
}
