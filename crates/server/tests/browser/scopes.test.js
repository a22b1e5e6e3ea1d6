// Scopes: buttons that a token does not allow are absent, and their requests are refused anyway.
import assert from "node:assert/strict";
import { test } from "node:test";

import { leave } from "./lib/browser.js";
import { fixture } from "./lib/fixture.js";
import { PAGES } from "./lib/pages.js";

const on = fixture();

// What needs `admin`. All other buttons need `operate`.
const ADMIN = /^\/queues\/[^/]+\/(settings|purge|delete)$/;
const CONFIRMATIONS = /\/(settings|purge|delete|stop|fail)$|\/bulk\//;

// The addresses that the buttons of a page lead to, and links to pages that ask first.
async function buttons(page, path) {
  await page.goto(path);
  const actions = await page.locator("main [formaction]").evaluateAll((all) => all.map((button) => button.getAttribute("formaction")));
  const links = await page.locator("main a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  return [...new Set([...actions, ...links.filter((link) => CONFIRMATIONS.test(link))])].toSorted();
}

async function post(page, path) {
  const token = await page.inputValue("#act input[name=form_token]");
  return page.request.post(path, { form: { form_token: token, back: "/" }, maxRedirects: 0 });
}

test("each token sees the buttons of its scope on each page", async () => {
  const [admin, operator, reader] = [await on.browser.visit("admin"), await on.browser.visit("operator"), await on.browser.visit("reader")];
  const found = new Set();
  for (const { path } of PAGES) {
    const all = await buttons(admin, path);
    all.forEach((address) => found.add(address));
    const own = ADMIN.test(path) ? [] : all.filter((address) => !ADMIN.test(address));
    assert.deepEqual(await buttons(operator, path), own, `operator on ${path}`);
    assert.deepEqual(await buttons(reader, path), [], `reader on ${path}`);
  }
  assert.ok(found.size >= 25, `${found.size} addresses`);
  for (const address of found) {
    assert.equal((await post(reader, address)).status(), 403, `reader: ${address}`);
    if (ADMIN.test(address)) assert.equal((await post(operator, address)).status(), 403, `operator: ${address}`);
  }
  const { actions } = await on.server.get("/actions");
  assert.ok(actions.every((action) => action.interface !== "dashboard"), "nothing was done");
  for (const page of [admin, operator, reader]) await leave(page);
});

test("a token for some queues sees and changes only those", async () => {
  const page = await on.browser.visit("mailer");
  assert.deepEqual(await page.locator("#queues tbody th a").allTextContents(), ["mail"]);
  for (const path of ["/", "/schedules", "/workers", "/actions"]) {
    await page.goto(path);
    const text = await page.textContent("main");
    assert.doesNotMatch(text, /imports|reports|nightly/, path);
  }
  for (const { path } of PAGES.filter((one) => /^\/queues\/(imports|reports)/.test(one.path))) {
    assert.equal((await page.goto(path)).status(), 403, path);
  }
  await page.goto("/");
  for (const path of ["/queues/imports/pause", "/queues/imports/groups/acme/pause", "/queues/reports/schedules/nightly/run", "/queues/imports/jobs/acme-2/cancel"]) {
    assert.equal((await post(page, path)).status(), 403, path);
  }
  assert.equal((await post(page, "/queues/mail/pause")).status(), 303);
  assert.equal((await on.server.get("/queues/mail")).paused, true);
  page.problems = page.problems.filter((problem) => !/status of 403/.test(problem));
  await leave(page);
});

test("a token without the scope read sees no page", async () => {
  const page = await on.browser.visit("enqueuer");
  for (const { path } of PAGES.filter((one) => one.path !== "/docs")) {
    assert.equal((await page.goto(path)).status(), 403, path);
    assert.doesNotMatch(await page.textContent("body"), /mail|ann@/);
  }
  page.problems = page.problems.filter((problem) => !/status of 403/.test(problem));
  await leave(page);
});
