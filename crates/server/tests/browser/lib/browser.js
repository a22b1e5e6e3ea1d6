// Chromium, and what a test watches in it: errors in the console, exceptions and dialogs.
import assert from "node:assert/strict";

import { chromium } from "./modules.js";

const PROGRAM = process.env.WINDLASS_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export class Browser {
  static async start(server) {
    const browser = new Browser();
    browser.server = server;
    browser.chromium = await chromium.launch({ executablePath: PROGRAM, headless: true, args: FLAGS.split(" ") });
    return browser;
  }

  // Opens a page of a new visitor, who signs in with a token. `options` are those of a browser context.
  async visit(token = "admin", options = {}) {
    const context = await this.chromium.newContext({ baseURL: this.server.url, locale: "en-GB", timezoneId: "America/New_York", ...options });
    context.setDefaultTimeout(10_000);
    const page = await context.newPage();
    page.problems = [];
    page.on("pageerror", (error) => page.problems.push(`exception: ${error}`));
    page.on("dialog", (dialog) => { page.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("console", (message) => {
      if (message.type() === "error") page.problems.push(`console: ${message.text()} ${message.location().url}`);
    });
    if (token) await signIn(page, this.server.tokens[token]);
    return page;
  }

  close = () => this.chromium.close();
}

export async function signIn(page, secret, to = "/") {
  await page.goto(`/sign-in?to=${encodeURIComponent(to)}`);
  await page.fill("#token", secret);
  await page.click("text=Sign in >> visible=true >> nth=-1");
}

// Asserts that nothing went wrong on a page, and closes it.
export async function leave(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}
