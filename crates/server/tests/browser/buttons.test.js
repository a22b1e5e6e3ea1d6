// Every button and form does what it says, with scripting and without, on every store.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { leave } from "./lib/browser.js";
import { pend, withWorker } from "./lib/fill.js";
import { fixture } from "./lib/fixture.js";
import { STORES, until } from "./lib/server.js";

const job = (server, id) => server.get(`/queues/mail/jobs/${id}`);
const isGone = (server, path) => server.get(path).then(() => false, (error) => /: (404|410) /.test(error.message));
const schedule = (server) => server.get("/queues/mail/schedules/hourly");
const group = (server, name) => server.get(`/queues/imports/groups/${name}`);
const settings = async (server) => (await server.get("/queues/mail/settings")).settings;

// In this order: the page, the label of the button, the notice, and what is true afterwards. `fill` sets fields first;
// `confirm` is the button of the page in between.
const BUTTONS = [
  { page: "/", press: "Pause imports", notice: "The queue is paused", is: async (server) => (await server.get("/queues/imports")).paused },
  { page: "/", press: "Resume imports", notice: "The queue is resumed", is: async (server) => !(await server.get("/queues/imports")).paused },
  { page: "/queues/imports", press: "Pause", notice: "The queue is paused", is: async (server) => (await server.get("/queues/imports")).paused },
  { page: "/queues/imports", press: "Resume", notice: "The queue is resumed", is: async (server) => !(await server.get("/queues/imports")).paused },
  { page: "/queues/imports", press: "Pause acme", notice: "The group is paused", is: async (server) => (await group(server, "acme")).paused },
  { page: "/queues/imports", press: "Resume acme", notice: "The group is resumed", is: async (server) => !(await group(server, "acme")).paused },
  { page: "/queues/imports/groups/globex", press: "Pause", notice: "The group is paused", is: async (server) => (await group(server, "globex")).paused },
  { page: "/queues/imports/groups/globex", press: "Resume", notice: "The group is resumed", is: async (server) => !(await group(server, "globex")).paused },
  {
    page: "/queues/imports/groups/globex",
    fill: { "#max_running": "4", "#rate": "20/1m" },
    press: "Save",
    notice: "The limits of the group are changed",
    is: async (server) => {
      const { own } = await group(server, "globex");
      return own.max_running === "4" && own.rate === "20/1m" && own.burst === "default";
    },
  },
  {
    page: "/queues/mail/settings",
    fill: { "#s-poison_after": "7" },
    press: "Save",
    notice: "The settings are changed",
    is: async (server) => (await settings(server)).poison_after === "7",
  },
  { page: "/schedules", press: "Pause hourly", notice: "The schedule is paused", is: async (server) => (await schedule(server)).paused },
  { page: "/schedules", press: "Resume hourly", notice: "The schedule is resumed", is: async (server) => !(await schedule(server)).paused },
  { page: "/queues/mail", press: "Pause hourly", notice: "The schedule is paused", is: async (server) => (await schedule(server)).paused },
  { page: "/queues/mail", press: "Resume hourly", notice: "The schedule is resumed", is: async (server) => !(await schedule(server)).paused },
  { page: "/schedules", press: "Run now: nightly", notice: "A job of the schedule is enqueued", is: async (server) => (await server.get("/queues/reports")).ready === 1 },
  { page: "/queues/mail/jobs/dead-1", press: "retry", notice: "The job is ready again", is: async (server) => (await job(server, "dead-1")).state === "ready" },
  { page: "/queues/mail/jobs/ready-1", press: "cancel", notice: "The job is cancelled", is: async (server) => (await job(server, "ready-1")).state === "cancelled" },
  { page: "/queues/mail/jobs/running-1", press: "cancel", notice: "asked to stop", is: async (server) => (await job(server, "running-1")).cancel_requested },
  { page: "/queues/mail/jobs/scheduled-1", press: "promote", notice: "The job is ready", is: async (server) => (await job(server, "scheduled-1")).state === "ready" },
  { page: "/workers", press: "Drain w-1", notice: "next heartbeat", is: async (server) => (await server.get("/workers"))[0].command === "pause" },
  { page: "/workers", press: "Resume w-1", notice: "next heartbeat", is: async (server) => (await server.get("/workers"))[0].command === "continue" },
  { page: "/workers", press: "Stop w-1", confirm: "Stop the worker", notice: "next heartbeat", is: async (server) => (await server.get("/workers"))[0].command === "stop" },
  {
    page: "/workers",
    press: "Declare w-1 dead",
    confirm: "Declare it dead",
    notice: "The worker is declared dead",
    is: async (server) => !(await server.get("/workers")).some((worker) => worker.id === "w-1" && worker.state !== "lost"),
  },
  { page: "/queues/mail", press: "Purge…", confirm: "Purge the queue", notice: "The queue is purged", is: async (server) => (await server.get("/queues/mail")).ready === 0 },
  { page: "/queues/empty", press: "Delete…", confirm: "Delete the queue", notice: "The queue is deleted", is: (server) => isGone(server, "/queues/empty") },
];

// The job is gone afterwards, and so is its page.
const DELETIONS = ["dead-2", "succeeded-1", "cancelled-1"];

for (const store of STORES) {
  for (const javaScriptEnabled of [true, false]) {
    describe(`${store} ${javaScriptEnabled ? "with" : "without"} scripting`, () => {
      const on = fixture(store, {}, (server) => server.post("/queues/empty/pause"));
      let server, page;
      before(async () => {
        server = on.server;
        page = await on.browser.visit("admin", { javaScriptEnabled });
      });
      const press = async (label) => {
        const [main, exactly] = [page.locator("main"), new RegExp(`^${label}$`, "i")];
        await main.getByRole("button", { name: exactly }).or(main.getByRole("link", { name: exactly })).first().click();
      };

      for (const button of BUTTONS) {
        test(`${button.page}: ${button.press}`, async () => {
          await page.goto(button.page);
          for (const [field, value] of Object.entries(button.fill ?? {})) await page.fill(field, value);
          await press(button.press);
          if (button.confirm) await press(button.confirm);
          assert.match(await page.textContent(".notice"), new RegExp(button.notice));
          assert.ok(await button.is(server), "the API says so");
          const [{ who, interface: used }] = (await server.get("/actions?limit=1")).actions;
          assert.deepEqual({ who, used }, { who: "admin", used: "dashboard" });
        });
      }

      for (const id of DELETIONS) {
        test(`/queues/mail/jobs/${id}: delete`, async () => {
          await page.goto(`/queues/mail/jobs/${id}`);
          await press("delete");
          assert.ok(await isGone(server, `/queues/mail/jobs/${id}`));
          assert.equal(new URL(page.url()).pathname, "/queues/mail/jobs", "the page of the job is gone");
          assert.match(await page.textContent(".notice"), /The job is deleted/);
        });
      }

      test("a pending job can be promoted", async () => {
        const id = await pend(server);
        await page.goto(`/queues/buffered/jobs/${encodeURIComponent(id)}`);
        await press("promote");
        assert.equal((await server.get(`/queues/buffered/jobs/${encodeURIComponent(id)}`)).state, "ready");
      });

      test("a worker drains, resumes and stops", async () => {
        await withWorker(server, "idle", async ({ id }, worker) => {
          const becomes = (state) => until(state, async () => (await server.get("/workers")).some((one) => one.id === id && one.state === state));
          for (const [label, state] of [[`Drain ${id}`, "paused"], [`Resume ${id}`, "idle"]]) {
            await page.goto("/workers");
            await press(label);
            await becomes(state);
          }
          await page.goto("/workers");
          await press(`Stop ${id}`);
          await press("Stop the worker");
          await until("the worker exits", () => worker.exitCode === 0);
        });
      });

      test("search, order and filter are links and forms", async () => {
        await page.goto("/");
        await page.fill("input[type=search]", "mai");
        await page.keyboard.press("Enter");
        await page.waitForURL(/q=mai/);
        assert.deepEqual(await page.locator("#queues tbody th a").allTextContents(), ["mail"]);
        await page.goto("/");
        await page.click("#queues thead >> text=Dead");
        await page.waitForURL(/sort=dead/);
        const dead = (await page.locator("#queues td.dead").allTextContents()).map(Number);
        assert.deepEqual(dead, dead.toSorted((a, b) => b - a));
        await page.goto("/queues/imports/jobs");
        await page.selectOption("select[name=state]", "ready");
        await page.fill("input[name=group]", "globex");
        await page.click("main >> text=Filter");
        await page.waitForURL(/group=globex/);
        const { jobs } = await server.get("/queues/imports/jobs?state=ready&group=globex");
        const shown = await page.locator("#jobs tbody th a").allTextContents();
        assert.deepEqual(shown.toSorted(), jobs.map((one) => one.id).toSorted());
        assert.ok(shown.length > 0);
      });

      test("nothing went wrong in the browser", () => leave(page));
    });
  }
}
