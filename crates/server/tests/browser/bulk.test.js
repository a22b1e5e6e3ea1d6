// Changes of many jobs: those selected, all that match a filter, and whole groups of errors; and the export.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { leave } from "./lib/browser.js";
import { bury } from "./lib/fill.js";
import { fixture } from "./lib/fixture.js";
import { STORES } from "./lib/server.js";

async function fillMore(server) {
  for (const at of [1, 2, 3, 4, 5, 6]) await bury(server, "bulk", { id: `dead-${at}`, kind: at < 4 ? "small" : "large" }, `disk ${at} is full`);
  for (const at of [1, 2]) await bury(server, "bulk", { id: `lost-${at}` }, `file ${at} is gone`);
}
const ids = async (server, state) => (await server.get(`/queues/bulk/jobs?state=${state}`)).jobs.map((job) => job.id).toSorted();

for (const store of STORES) {
  for (const javaScriptEnabled of [true, false]) {
    describe(`${store} ${javaScriptEnabled ? "with" : "without"} scripting`, () => {
      const on = fixture(store, {}, fillMore);
      const press = (page, name) => page.locator("main").getByRole("button", { name }).or(page.locator("main").getByRole("link", { name })).first().click();
      // The page of the change shows its end: by itself if it is live.
      const ends = async (page, text) => {
        if (javaScriptEnabled) await page.locator("h1 .tag", { hasText: "done" }).waitFor();
        else while ((await page.textContent("h1 .tag")) === "running") await page.reload();
        assert.match((await page.textContent("main")).replaceAll(/\s+/g, " "), text);
      };

      test("selected jobs, all that match a filter, and a group of errors are changed", async () => {
        const page = await on.browser.visit("operator", { javaScriptEnabled });
        await page.goto("/queues/bulk/jobs?state=dead");
        for (const id of ["dead-1", "dead-2"]) await page.getByLabel(`Select ${id}`).check();
        await press(page, "Retry");
        await ends(page, /selected jobs: 2 of about 2/);
        assert.deepEqual(await ids(on.server, "ready"), ["dead-1", "dead-2"]);

        await page.goto("/queues/bulk/jobs?state=dead&kind=small");
        await press(page, "Delete all…");
        assert.equal((await ids(on.server, "dead")).length, 6, "it asks first");
        await press(page, "Delete them");
        await ends(page, /kind small/);
        assert.deepEqual(await ids(on.server, "dead"), ["dead-4", "dead-5", "dead-6", "lost-1", "lost-2"]);

        await page.goto("/errors");
        await press(page, "Retry dead jobs with the error file # is gone");
        await press(page, "Retry them");
        await ends(page, /done/);
        assert.deepEqual(await ids(on.server, "ready"), ["dead-1", "dead-2", "lost-1", "lost-2"]);

        await page.goto("/errors");
        await press(page, "Clear the group file # is gone");
        assert.match(await page.textContent(".notice"), /The group of errors is deleted/);
        const { errors } = await on.server.get("/queues/bulk/errors");
        assert.ok(errors.every((group) => group.message !== "file # is gone"));
        await leave(page);
      });

      test("a change of no job is refused, and says what to do", async () => {
        const page = await on.browser.visit("operator", { javaScriptEnabled });
        await page.goto("/queues/bulk/jobs?state=dead");
        await press(page, "Retry");
        await page.getByText("no job is selected").waitFor();
        page.problems = page.problems.filter((problem) => !/status of 400/.test(problem));
        await leave(page);
      });

      if (javaScriptEnabled) test("one checkbox selects all jobs of the page", async () => {
        const page = await on.browser.visit("operator");
        await page.goto("/queues/mail/jobs");
        await page.getByLabel("Select all jobs on this page").check();
        const [all, checked] = [await page.locator("input[name=ids]").count(), await page.locator("input[name=ids]:checked").count()];
        assert.ok(all > 0 && all === checked);
        await leave(page);
      });

      test("the export has the jobs that match", async () => {
        const page = await on.browser.visit("reader", { javaScriptEnabled });
        await page.goto("/queues/mail/jobs?state=dead");
        const started = page.waitForEvent("download");
        await press(page, "Export as NDJSON");
        const download = await started;
        assert.equal(download.suggestedFilename(), "mail.ndjson");
        const chunks = await (await download.createReadStream()).toArray();
        const lines = Buffer.concat(chunks).toString().trim().split("\n").map(JSON.parse);
        assert.deepEqual(lines.map((job) => job.id).toSorted(), ["dead-1", "dead-2"]);
        await leave(page);
      });
    });
  }
}
