// axe-core finds no violation on any page, light and dark, wide and narrow; and no page is wider than a phone.
import assert from "node:assert/strict";
import { test } from "node:test";

import { leave } from "./lib/browser.js";
import { fixture } from "./lib/fixture.js";
import { AXE } from "./lib/modules.js";
import { BARE, PAGES } from "./lib/pages.js";

const on = fixture();
const VIEWS = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 800 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 800 } },
  { name: "light on a phone", colorScheme: "light", viewport: { width: 390, height: 844 } },
];

async function violations(page) {
  const found = await page.evaluate(async () => (await axe.run(document, { resultTypes: ["violations"] })).violations);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`);
}

for (const { name, ...view } of VIEWS) {
  test(`no violation: ${name}`, async (t) => {
    const page = await on.browser.visit("admin", view);
    await page.context().addInitScript({ path: AXE });
    for (const { name: which, path } of [...PAGES, ...BARE]) {
      await t.test(which, async () => {
        await page.goto(path);
        assert.deepEqual(await violations(page), []);
        const [wide, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= width, `${path} is ${wide} px wide on a screen of ${width} px`);
      });
    }
    await t.test("list of keys", async () => {
      await page.goto("/");
      await page.locator("#show-keys").click();
      assert.deepEqual(await violations(page), []);
    });
    page.problems = page.problems.filter((problem) => !/status of 40[04]/.test(problem));
    await leave(page);
  });
}
