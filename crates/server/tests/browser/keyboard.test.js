// Keyboard shortcuts, and times in the zone of the browser.
import assert from "node:assert/strict";
import { test } from "node:test";

import { leave } from "./lib/browser.js";
import { fixture, openLive } from "./lib/fixture.js";

const on = fixture();
const marked = (page) => page.locator("tr.at th").first().textContent();

test("? lists the keys, and Escape closes the list", async () => {
  const page = await on.browser.visit();
  await openLive(page, "/");
  await page.keyboard.press("?");
  await page.locator("dialog#keys").waitFor();
  assert.match(await page.textContent("dialog#keys"), /Next and previous row/);
  await page.keyboard.press("Escape");
  await page.locator("dialog#keys").waitFor({ state: "hidden" });
  await page.getByLabel("Keyboard shortcuts").first().click();
  await page.locator("dialog#keys").waitFor();
  await leave(page);
});

test("g and the letter of each page in the navigation open it", async () => {
  const page = await on.browser.visit();
  await page.goto("/workers");
  const links = await page.locator("nav.pages a").evaluateAll((all) => all.map((link) => [link.dataset.key, link.pathname]));
  assert.ok(links.length >= 5);
  for (const [key, path] of links) {
    await page.goto(path === "/workers" ? "/" : "/workers");
    await page.locator("#show-keys").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForURL((url) => url.pathname === path);
  }
  await leave(page);
});

test("j and k move between rows, and Enter opens one", async () => {
  const page = await on.browser.visit();
  await openLive(page, "/");
  await page.keyboard.press("j");
  assert.match(await marked(page), /imports/);
  await page.keyboard.press("j");
  assert.match(await marked(page), /mail/);
  await page.keyboard.press("k");
  assert.match(await marked(page), /imports/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/queues\/imports$/);
  await leave(page);
});

test("/ moves to the search field, where keys are text", async () => {
  const page = await on.browser.visit();
  await openLive(page, "/");
  await page.keyboard.press("/");
  await page.keyboard.type("j?go");
  assert.equal(await page.inputValue("input[type=search]"), "j?go");
  assert.equal(await page.locator("tr.at").count(), 0);
  assert.ok(await page.locator("dialog#keys").isHidden());
  assert.equal(new URL(page.url()).pathname, "/");
  await leave(page);
});

test("times are local with UTC on hover, and UTC without scripting", async () => {
  const { created_at: created } = await on.server.get("/queues/mail/jobs/ready-1");
  const selector = `time[datetime="${created}"] >> nth=0`;
  const page = await on.browser.visit("reader", { timezoneId: "Asia/Kathmandu" });
  await openLive(page, "/queues/mail/jobs/ready-1");
  const local = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", timeZone: "Asia/Kathmandu" });
  assert.equal(await page.textContent(selector), local.format(new Date(created)));
  assert.equal(await page.getAttribute(selector, "title"), created.replace("T", " ").replace("Z", " UTC"));
  await leave(page);

  const plain = await on.browser.visit("reader", { javaScriptEnabled: false });
  await plain.goto("/queues/mail/jobs/ready-1");
  assert.equal(await plain.textContent(selector), `${created.slice(0, 19).replace("T", " ")} UTC`);
  await leave(plain);
});
