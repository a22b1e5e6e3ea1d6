// Text of users stays text: no field of a job, worker, schedule, group, token or address becomes markup or code.
import assert from "node:assert/strict";
import { test } from "node:test";

import { leave } from "./lib/browser.js";
import { claim } from "./lib/fill.js";
import { fixture } from "./lib/fixture.js";

// Without spaces, so that some are valid as names of tokens too.
const ATTACKS = [
  "<script>alert(1)</script>",
  '"><img/src=x/onerror=alert(2)>',
  "'onmouseover='alert(3)'x='",
  "</title></textarea></pre><svg/onload=alert(4)>",
  "javascript:alert(5)",
  "--><iframe/src=javascript:alert(6)></iframe>",
  "{{7*7}}${7*7}<%=7*7%>",
  "%3Cscript%3Ealert(7)%3C/script%3E&lt;b&gt;",
  "]]><a/href=javascript:alert(8)>x</a>",
  "\\u003cscript\\u003ealert(9)\\u003c/script\\u003e",
];
const PARAMETERS = [
  ["/", ["q", "sort", "range", "done"]],
  ["/queues/attacked", ["groups", "schedules", "range", "done"]],
  ["/queues/attacked/jobs", ["state", "text", "kind", "group", "worker", "min_attempt", "header", "older_than", "newer_than", "error_group", "cursor"]],
  ["/queues/attacked/bulk/retry", ["state", "text", "kind", "group", "error_group"]],
  ["/schedules", ["from", "cursor"]],
  ["/actions", ["cursor"]],
  ["/sign-in", ["to"]],
];

const path = (...parts) => parts.map(encodeURIComponent).join("/");

// Puts an attack into every field that a user controls. Returns the pages that show it.
async function attack(server, text, at) {
  const jobs = "/queues/attacked/jobs";
  const headers = { tenant: text, traceparent: text };
  const job = { payload: { [text]: text }, kind: text, headers, unique_key: `${text}${at}`, priority: 0, max_attempts: 3 };
  const post = (id, verb, body) => server.post(`${jobs}/${encodeURIComponent(id)}/${verb}`, body);
  const ids = ["dead", "running", "succeeded"].map((state) => `${text}-${state}`);
  const [dead, running, succeeded] = ids;

  const { worker } = await server.post("/workers", { worker: `w-${at}`, name: text, host: text, pid: 1, version: text, queues: ["attacked"] });
  const run = async (id, more = {}) => {
    await server.post(jobs, { ...job, unique_key: `${id}${at}`, id, ...more });
    return (await claim(server, "attacked", { worker })).token;
  };
  await post(dead, "fail", { token: await run(dead), error: `${text}\n${text}`, permanent: true });
  await post(succeeded, "complete", { token: await run(succeeded, { keep_outcome: true }), result: text });
  const token = await run(running);
  await post(running, "progress", { token, fraction: 0.5, message: text });
  await server.post(`/workers/${worker}/heartbeat`, { running: [{ queue: "attacked", id: running, token }], lease: "1h" });
  await server.post(jobs, { id: `${text}-group`, payload: text, group: text });
  await server.put(`/queues/attacked/schedules/${encodeURIComponent(text)}`, { every: "1h", job: { payload: text } }).catch((error) => {
    assert.match(error.message, / 400 /, "a schedule may have a stricter name");
  });
  const pages = [...ids, `${text}-group`].map((id) => `/${path("queues", "attacked", "jobs", id)}`);
  return [...pages, `/${path("queues", "attacked", "groups", text)}`];
}

// In the file of tokens, a word with `=` is not a name.
const TOKENS = ATTACKS.filter((text) => !text.includes("="));
const on = fixture("sqlite", { names: TOKENS });

// What must not be on a page, whatever its texts are.
const foreign = () => {
  const own = (address) => /^[/#]/.test(address) && !address.startsWith("//");
  const links = [...document.querySelectorAll("[href],[src],[action],[formaction]")].flatMap((element) =>
    ["href", "src", "action", "formaction"].map((name) => element.getAttribute(name)).filter((value) => value !== null && !own(value)));
  const handlers = [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on")));
  const elements = document.querySelectorAll("main script, main img:not(.brand img), main iframe, main object, style, base, body > script");
  return [...links, ...[...handlers, ...elements].map((element) => element.outerHTML)];
};

// Marks the fragments of each page before its script runs. A live update, which takes another path than the first
// rendering, removes the marks.
const mark = () => document.addEventListener("readystatechange", () => {
  if (document.readyState !== "interactive") return;
  for (const part of document.querySelectorAll("[data-live]:not([data-live=status])")) part.append(document.createElement("i"));
});
const isUpdated = () => document.querySelectorAll("[data-live] > i").length === 0;

test("no field of a job, worker, schedule or group is markup", async () => {
  const page = await on.browser.visit(ATTACKS[0]);
  const visit = async (address, ...texts) => {
    const reply = await page.goto(address);
    assert.equal(reply.status(), 200, address);
    assert.match(reply.headers()["content-security-policy"], /script-src 'self'/);
    const shown = await page.textContent("main");
    for (const text of texts) assert.ok(shown.includes(text), `${address} shows ${text}: ${shown}`);
    assert.deepEqual(await page.evaluate(foreign), [], address);
  };
  for (const [at, text] of ATTACKS.entries()) {
    for (const address of await attack(on.server, text, at)) await visit(address, text);
  }
  for (const address of ["/queues/attacked/jobs", "/workers", "/queues/attacked"]) await visit(address, ...ATTACKS);
  await page.context().addInitScript(mark);
  for (const address of ["/", "/errors", "/schedules", "/actions", "/workers", "/queues/attacked"]) {
    // A page that was not watched before gets all its fragments.
    await page.goto(`${address}?unwatched`);
    await page.waitForFunction(isUpdated);
    await page.locator("details").evaluateAll((all) => all.forEach((one) => { one.open = true; }));
    assert.deepEqual(await page.evaluate(foreign), [], address);
  }
  await leave(page);
});

test("the name of a token is text, on the page and in the log of actions", async () => {
  for (const name of TOKENS) {
    const page = await on.browser.visit(name);
    assert.equal(await page.textContent(".token"), name);
    await page.goto("/queues/imports");
    await page.locator("main .buttons").getByRole("button").first().click();
    await page.goto("/actions");
    assert.equal(await page.locator("tbody tr >> nth=0 >> td >> nth=0").textContent(), name);
    await leave(page);
  }
});

test("no parameter of an address is markup, and the name of a queue cannot be one", async () => {
  const page = await on.browser.visit();
  // The first ones break out of texts and attributes, which is all that an address gets into.
  for (const text of ATTACKS.slice(0, 4)) {
    for (const [address, names] of PARAMETERS) {
      const query = names.map((name) => `${name}=${encodeURIComponent(text)}`);
      // One at a time where a wrong one is an error, which would hide the others.
      for (const part of address.endsWith("jobs") ? query : [query.join("&")]) {
        await page.goto(`${address}?${part}`);
        assert.deepEqual(await page.evaluate(foreign), [], `${address}?${part}`);
      }
    }
    for (const address of [`/queues/${encodeURIComponent(text)}`, `/workers/${encodeURIComponent(text)}/stop`, `/queues/attacked/jobs/${encodeURIComponent(text)}`, `/${encodeURIComponent(text)}`]) {
      await page.goto(address);
      assert.deepEqual(await page.evaluate(foreign), [], address);
    }
    await assert.rejects(on.server.post(`/queues/${encodeURIComponent(text)}/jobs`, { payload: "x" }), / 400 /);
  }
  page.problems = page.problems.filter((problem) => !/status of 40[0-9]/.test(problem));
  await leave(page);
});
