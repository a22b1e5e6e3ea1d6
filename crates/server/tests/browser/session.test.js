// Sessions: signing in and out, the cookie, and what a browser sees whose session has ended.
import assert from "node:assert/strict";
import { test } from "node:test";

import { leave, signIn } from "./lib/browser.js";
import { fixture, openLive } from "./lib/fixture.js";

const on = fixture();
const button = (page, name) => page.getByRole("button", { name, exact: true });
// Chromium reports each status above 399, and a stream that ended.
const forgive = (page, pattern) => { page.problems = page.problems.filter((problem) => !pattern.test(problem)); };

test("a visitor signs in, and gets to the page that was asked for", async () => {
  const page = await on.browser.visit(null);
  const reply = await page.goto("/queues/mail/jobs?state=dead");
  assert.equal(reply.status(), 401);
  await page.fill("#token", "not a token of this server at all");
  await button(page, "Sign in").click();
  await page.getByText("This server does not know that token.").waitFor();
  await page.fill("#token", on.server.tokens.reader);
  await button(page, "Sign in").click();
  await page.waitForURL(/\/queues\/mail\/jobs\?state=dead$/);
  assert.equal(await page.textContent(".token"), "reader");
  forgive(page, /status of 401/);
  await leave(page);
});

test("the address to go to after signing in cannot be on another site", async () => {
  const page = await on.browser.visit(null);
  for (const to of ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"]) {
    await signIn(page, on.server.tokens.reader, to);
    await page.locator("#queues").waitFor();
    assert.equal(page.url(), `${on.server.url}/`);
  }
  await leave(page);
});

test("scripts and other sites cannot read or send the cookie, and it lasts 12 hours", async () => {
  const page = await on.browser.visit();
  const [cookie, ...others] = await page.context().cookies();
  assert.equal(others.length, 0);
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Strict");
  assert.equal(cookie.path, "/");
  assert.ok(cookie.value.length >= 43);
  assert.ok(!Object.values(on.server.tokens).includes(cookie.value));
  const hours = cookie.expires / 3600 - Date.now() / 3_600_000;
  assert.ok(hours > 11.9 && hours <= 12, `${hours} hours`);
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.equal(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage])), "[{},{}]");
  await leave(page);
});

test("signing out ends the session, also on other pages that are open", async () => {
  const page = await on.browser.visit();
  const other = await page.context().newPage();
  await openLive(other, "/workers");
  const [cookie] = await page.context().cookies();
  await button(page, "Sign out").click();
  await page.waitForURL(/\/sign-in$/);
  assert.deepEqual(await page.context().cookies(), []);
  await on.server.post("/queues/mail/jobs", { payload: "a change" });
  await other.locator("#live", { hasText: "Signed out" }).waitFor();
  const replay = await on.server.send("GET", "/workers", null, { cookie: `${cookie.name}=${cookie.value}`, accept: "text/html" });
  assert.equal(replay.status, 401);
  await page.goBack();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  forgive(page, /status of 401/);
  await leave(page);
});

test("a form of a session that has ended changes nothing, and leads back after signing in", async () => {
  const page = await on.browser.visit("admin", { javaScriptEnabled: false });
  await page.goto("/queues/mail");
  await page.context().clearCookies();
  await page.locator("main").getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.equal((await on.server.get("/queues/mail")).paused, false);
  await page.fill("#token", on.server.tokens.admin);
  await button(page, "Sign in").click();
  await page.waitForURL(/\/queues\/mail$/);
  forgive(page, /status of 401/);
  await leave(page);
});

test("a restarted server has forgotten the session, and a live page says so", async () => {
  const page = await on.browser.visit();
  await openLive(page, "/");
  await on.server.stop();
  await on.server.serve();
  await page.locator("#live", { hasText: "Not live: reload the page" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  forgive(page, /status of 401|ERR_|EventSource/);
  await leave(page);
});
