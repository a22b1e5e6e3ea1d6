// Every page opens and shows what the API says, with scripting and without, on every store.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { leave } from "./lib/browser.js";
import { fixture } from "./lib/fixture.js";
import { BARE, PAGES } from "./lib/pages.js";
import { STORES, until } from "./lib/server.js";

const normal = (text) => text.replaceAll(/\s+/g, " ");

for (const store of STORES) {
  describe(store, () => {
    const on = fixture(store);

    for (const javaScriptEnabled of [true, false]) {
      test(`pages show what the API says ${javaScriptEnabled ? "with" : "without"} scripting`, async (t) => {
        const page = await on.browser.visit("admin", { javaScriptEnabled });
        for (const { name, path, shows } of PAGES) {
          await t.test(name, async () => {
            const reply = await page.goto(path);
            assert.equal(reply.status(), 200);
            assert.match(reply.headers()["content-security-policy"], /default-src 'none'; style-src 'self'; script-src 'self'/);
            const texts = (await shows(on.server)).filter(Boolean).map(normal);
            assert.ok(texts.length > 0);
            // Health and history are read in the background, and come with a later rendering.
            await until(`${path} shows ${texts}`, async () => {
              const shown = normal(await page.textContent("body"));
              if (texts.every((text) => shown.includes(text))) return true;
              if (!javaScriptEnabled) await page.reload();
              return false;
            });
          });
        }
        await leave(page);
      });
    }

    test("an error has a page that says what to do", async () => {
      const page = await on.browser.visit();
      for (const { path, status } of BARE.filter((one) => one.status)) {
        const reply = await page.goto(path);
        assert.equal(reply.status(), status);
        await page.getByText("To the overview").click();
        assert.equal(new URL(page.url()).pathname, "/");
      }
      // Chromium reports each status above 399.
      page.problems = page.problems.filter((problem) => !/status of 40[04]/.test(problem));
      await leave(page);
    });
  });
}
