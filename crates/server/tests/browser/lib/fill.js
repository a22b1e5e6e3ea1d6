// Fills a store: queues, a job in every state, errors, groups, schedules and workers.
import { end, until } from "./server.js";

const PAYLOAD = { to: "ann@example.org", subject: "Your invoice", items: [1, 2, 3] };

// Claims the next job of a queue. Returns its id and token.
export async function claim(server, queue, options = {}) {
  const [job] = await server.post(`/queues/${queue}/claim`, { max: 1, lease: "1h", ...options });
  return job;
}

// Enqueues a job and lets its attempt fail for good.
export async function bury(server, queue, job, error) {
  await server.post(`/queues/${queue}/jobs`, { priority: 0, ...job });
  const { id, token } = await claim(server, queue);
  await server.post(`/queues/${queue}/jobs/${encodeURIComponent(id)}/fail`, { token, error, permanent: true });
}

export async function fill(server) {
  const enqueue = (queue, job) => server.post(`/queues/${queue}/jobs`, job);
  const finish = (id, how, body) => server.post(`/queues/mail/jobs/${id}/${how}`, body);

  await server.post("/workers", { worker: "w-1", name: "sender", host: "node-1", pid: 7, version: "0.1.0", queues: ["mail"] });
  await enqueue("mail", { id: "succeeded-1", payload: PAYLOAD, keep_outcome: true });
  const first = await claim(server, "mail");
  await finish(first.id, "complete", { token: first.token, result: '{"sent":true}' });
  await enqueue("mail", { id: "running-1", payload: PAYLOAD, kind: "letter" });
  const { token } = await claim(server, "mail", { worker: "w-1" });
  await finish("running-1", "progress", { token, fraction: 0.4, message: "page 2 of 5" });
  await server.post("/workers/w-1/heartbeat", { running: [{ queue: "mail", id: "running-1", token }], lease: "1h" });

  await enqueue("mail", { id: "dead-1", payload: PAYLOAD, kind: "letter", headers: { tenant: "acme" } });
  for (const [at, how] of [[1, { delay: "1ms" }], [2, { permanent: true }]]) {
    const again = await claim(server, "mail", { wait: "5s" });
    const error = `connection to 10.0.0.${at} refused after ${at}00 ms\n  at send (mail.rs:42)`;
    await finish("dead-1", "fail", { token: again.token, error, ...how });
  }
  await bury(server, "mail", { id: "dead-2" }, "mailbox 17 is full");
  await enqueue("mail", { id: "cancelled-1", payload: "x" });
  await finish("cancelled-1", "cancel", {});
  await enqueue("mail", { id: "scheduled-1", payload: PAYLOAD, delay: "2h" });
  await enqueue("mail", { id: "ready-1", payload: PAYLOAD, priority: 2, kind: "letter", headers: { tenant: "acme" } });
  await enqueue("mail", { id: "ready-2", payload: "plain text", priority: 7 });

  for (const group of ["acme", "globex"]) for (const at of [1, 2, 3]) await enqueue("imports", { id: `${group}-${at}`, group, payload: "x" });
  await server.put("/queues/imports/groups/acme", { max_running: "2", rate: "100/1m" });
  await claim(server, "imports");
  await server.put("/queues/mail/schedules/hourly", { every: "1h", job: { payload: "x" } });
  await server.put("/queues/reports/schedules/nightly", { cron: "0 3 * * *", zone: "Europe/Berlin", job: { payload: "x", kind: "report" } });
  await server.post("/queues/reports/pause");
}

// Creates a pending job: one that waits for the previous job of its schedule. Returns its id.
export async function pend(server, queue = "buffered") {
  await server.put(`/queues/${queue}/schedules/often`, { every: "1s", overlap: "buffer", job: { payload: "x" } });
  const list = async () => (await server.get(`/queues/${queue}/jobs?state=pending`)).jobs;
  const [job] = await until("a job is pending", async () => { const jobs = await list(); return jobs.length > 0 && jobs; });
  await server.post(`/queues/${queue}/schedules/often/pause`);
  return job.id;
}

// Runs a worker with `windlass exec` while `work` runs.
export async function withWorker(server, queue, work) {
  const worker = server.run("exec", "--quiet", queue, "true");
  try {
    const find = async () => (await server.get("/workers")).find((one) => one.queues.includes(queue) && one.state === "idle");
    await work(await until("the worker registers", find), worker);
  } finally {
    await end(worker);
  }
}
