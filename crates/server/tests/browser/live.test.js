// Live pages: numbers change without a reload, and what the user does on the page stays.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { leave } from "./lib/browser.js";
import { fixture, openLive } from "./lib/fixture.js";
import { STORES } from "./lib/server.js";

for (const store of STORES) {
  describe(store, () => {
    const on = fixture(store);

    test("a number changes without a reload", async () => {
      const page = await on.browser.visit("reader");
      await openLive(page, "/queues/mail");
      await page.evaluate(() => { window.isSame = true; });
      const { ready } = await on.server.get("/queues/mail");
      await on.server.post("/queues/mail/jobs", { payload: "one more" });
      await page.locator(".totals .ready strong", { hasText: new RegExp(`^${ready + 1}$`) }).waitFor();
      assert.ok(await page.evaluate(() => window.isSame));
      await leave(page);
    });

    test("a page that is shown again catches up, while another one is watched", async () => {
      const page = await on.browser.visit("reader");
      const other = await page.context().newPage();
      for (const one of [page, other]) await openLive(one, "/queues/mail/jobs/scheduled-1");
      // As when the browser hides a page, and shows it again.
      await page.evaluate(() => dispatchEvent(new Event("pagehide")));
      await on.server.post("/queues/mail/jobs/scheduled-1/cancel");
      await other.locator("h1 .tag", { hasText: "cancelled" }).waitFor();
      assert.equal(await page.textContent("h1 .tag"), "scheduled");
      await page.evaluate(() => dispatchEvent(new Event("pageshow")));
      await page.locator("h1 .tag", { hasText: "cancelled" }).waitFor();
      await leave(page);
    });

    test("typed text, focus and open details stay while the page changes", async () => {
      const page = await on.browser.visit();
      await openLive(page, "/");
      await page.locator("#health .findings summary").first().click();
      await page.locator("input[type=search]").pressSequentially("typed");
      await on.server.post("/queues/new-queue/jobs", { payload: "x" });
      await page.locator("#queues th.name", { hasText: "new-queue" }).waitFor();
      assert.equal(await page.inputValue("input[type=search]"), "typed");
      assert.ok(await page.locator("input[type=search]").evaluate((input) => input === document.activeElement));
      assert.equal(await page.locator("#health details[open]").count(), 1);
      await leave(page);
    });
  });
}

describe("a server that restarts", () => {
  const on = fixture("sqlite", { isOpen: true });

  test("is noticed, and the page is live again afterwards", async () => {
    const page = await on.browser.visit(null);
    await openLive(page, "/");
    await on.server.stop();
    await page.locator("#live[data-state=wait]", { hasText: "Reconnecting" }).waitFor();
    await on.server.serve();
    await page.locator("#live[data-state=on]").waitFor();
    await on.server.post("/queues/later/jobs", { payload: "x" });
    await page.locator("#queues th.name", { hasText: "later" }).waitFor();
    page.problems = page.problems.filter((problem) => !/ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE)/.test(problem));
    await leave(page);
  });
});
