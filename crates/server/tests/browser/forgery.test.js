// Requests that another site makes a browser send are refused, and no other site can show a page in a frame.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";

import { leave } from "./lib/browser.js";
import { fixture } from "./lib/fixture.js";

// Another site: on another port of this host, to which the browser sends the cookies of the dashboard, and on another host.
let site, html;
before(async () => {
  site = createServer((request, reply) => reply.writeHead(200, { "content-type": "text/html" }).end(html)).listen(0, "127.0.0.1");
  await once(site, "listening");
});
after(() => site.close());
const origins = () => [`http://127.0.0.1:${site.address().port}`, `http://localhost:${site.address().port}`];
const forgive = (page) => { page.problems = page.problems.filter((problem) => !/status of 40[13]|frame|CORS|ERR_/i.test(problem)); };

for (const isOpen of [false, true]) {
  describe(isOpen ? "a server without tokens" : "a server with tokens", () => {
    const on = fixture("sqlite", { isOpen });
    const visit = () => on.browser.visit(isOpen ? null : "admin");
    const isPaused = async () => (await on.server.get("/queues/mail")).paused;
    const token = (page) => page.inputValue("#act input[name=form_token]");

    test("a form without the form token, or with that of another session, is refused", async () => {
      const page = await visit();
      const other = await visit();
      for (const one of [page, other]) await one.goto("/");
      const forms = [{}, { form_token: "" }, { form_token: "x".repeat(43) }];
      // Without sessions, all visitors share a token that other sites cannot read.
      if (!isOpen) forms.push({ form_token: await token(other) });
      for (const path of ["/queues/mail/pause", "/queues/mail/purge", ...(isOpen ? [] : ["/sign-out"])]) {
        for (const form of forms) {
          const reply = await page.request.post(path, { form, maxRedirects: 0 });
          assert.equal(reply.status(), 403, `${path} ${JSON.stringify(form)}`);
        }
      }
      assert.equal(await isPaused(), false);
      const reply = await page.request.post("/queues/mail/pause", { form: { form_token: await token(page) }, maxRedirects: 0 });
      assert.equal(reply.status(), 303);
      assert.equal(await isPaused(), true);
      await on.server.post("/queues/mail/resume");
      for (const one of [page, other]) await leave(one);
    });

    test("a form on another site is refused, even with the right form token", async () => {
      const page = await visit();
      await page.goto("/");
      html = `<form id=f method=post action="${on.server.url}/queues/mail/pause"><input name=form_token value="${await token(page)}"></form><script>f.submit()</script>`;
      for (const origin of origins()) {
        const sent = page.waitForResponse((reply) => reply.url().endsWith("/pause"));
        await page.goto(origin);
        const status = (await sent).status();
        assert.ok(status === 401 || status === 403, `${origin}: ${status}`);
        assert.equal(await isPaused(), false);
      }
      forgive(page);
      await leave(page);
    });

    test("a script on another site can neither send a request nor read a page", async () => {
      const page = await visit();
      html = "";
      for (const origin of origins()) {
        await page.goto(origin);
        for (const [method, path] of [["POST", "/queues/mail/pause"], ["POST", "/v1/queues/mail/pause"], ["GET", "/"]]) {
          const read = await page.evaluate(async ([address, method]) => {
            const reply = await fetch(address, { method, credentials: "include" }).catch(() => null);
            return reply && reply.text();
          }, [on.server.url + path, method]);
          assert.equal(read, null, `${origin} ${method} ${path}`);
        }
        assert.equal(await isPaused(), false);
      }
      forgive(page);
      await leave(page);
    });

    test("no page can be shown in a frame", async () => {
      const page = await visit();
      html = `<iframe src="${on.server.url}/"></iframe>`;
      await page.goto(origins()[0]);
      const frame = page.frames().find((one) => one !== page.mainFrame());
      assert.equal(await frame.locator("main").count(), 0);
      forgive(page);
      await leave(page);
    });
  });
}
