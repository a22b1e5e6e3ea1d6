// All pages of the dashboard, as the store of `fill` has them. Tests that hold for every page go through this list.
//
// `shows` returns texts that the page must have, read from the API.

const number = (value) => value.toLocaleString("en-US");
const counts = ["ready", "running", "dead"];

const job = (id) => ({
  name: `job-${id.split("-")[0]}`,
  path: `/queues/mail/jobs/${id}`,
  shows: async (server) => {
    const found = await server.get(`/queues/mail/jobs/${id}`);
    const texts = [found.id, found.state, `${found.attempt} of ${found.max_attempts}`, found.kind, found.progress_message, found.result && '"sent": true'];
    const { reasons } = await server.get(`/queues/mail/jobs/${id}/why`);
    const attempts = (found.attempts ?? []).map((attempt) => attempt.error.split("\n")[0]);
    return [...texts, ...Object.keys(found.headers ?? {}), ...reasons.map((one) => one.reason), ...attempts, found.payload?.includes("ann@") && "ann@example.org"];
  },
});

export const PAGES = [
  {
    name: "overview",
    path: "/",
    shows: async (server) => {
      const queues = await server.get("/queues");
      const sums = counts.map((count) => number(queues.reduce((sum, queue) => sum + queue[count], 0)));
      return ["Queues", "Health", "Workers", "They run 1 jobs", ...sums, ...queues.map((queue) => queue.queue)];
    },
  },
  { name: "overview-day", path: "/?range=day&sort=dead", shows: async () => ["Last day", "Throughput"] },
  {
    name: "queue",
    path: "/queues/mail",
    shows: async (server) => {
      const queue = await server.get("/queues/mail");
      const { errors } = await server.get("/queues/mail/errors");
      const settings = await server.get("/queues/mail/settings");
      const names = Object.keys(settings.settings ?? settings);
      return [...counts.map((count) => number(queue[count])), "Priority 2", "Priority 7", "hourly", ...errors.map((group) => group.message), ...names];
    },
  },
  {
    name: "queue-groups",
    path: "/queues/imports",
    shows: async (server) => (await server.get("/queues/imports/groups")).groups.map((group) => group.group),
  },
  { name: "queue-paused", path: "/queues/reports", shows: async () => ["paused", "Resume", "nightly", "0 3 * * * (Europe/Berlin)"] },
  {
    name: "settings",
    path: "/queues/mail/settings",
    shows: async (server) => {
      const settings = await server.get("/queues/mail/settings");
      return Object.keys(settings.settings ?? settings);
    },
  },
  { name: "group", path: "/queues/imports/groups/acme", shows: async () => ["Group acme", "Slots in use", "Maximum running"] },
  {
    name: "jobs",
    path: "/queues/mail/jobs",
    shows: async (server) => (await server.get("/queues/mail/jobs")).jobs.map((found) => found.id),
  },
  { name: "jobs-filter", path: "/queues/mail/jobs?state=dead&header=tenant%3Dacme", shows: async () => ["dead-1", "This page examined"] },
  ...["ready-1", "running-1", "scheduled-1", "dead-1", "succeeded-1", "cancelled-1"].map(job),
  {
    name: "errors",
    path: "/errors",
    shows: async (server) => (await server.get("/queues/mail/errors")).errors.flatMap((group) => [group.message, group.kind, group.example.split("\n")[0]]),
  },
  { name: "confirm-bulk", path: "/queues/mail/bulk/retry?state=dead", shows: async () => ["Retry all matching jobs of mail?", "state dead", "Retry them"] },
  { name: "purge", path: "/queues/mail/purge", shows: async () => ["Purge mail?", "Purge the queue"] },
  { name: "delete-queue", path: "/queues/mail/delete", shows: async () => ["Delete mail?", "Delete the queue"] },
  {
    name: "workers",
    path: "/workers",
    shows: async (server) => (await server.get("/workers")).flatMap((worker) => [worker.id, worker.name, worker.state, worker.host, ...worker.queues]),
  },
  { name: "stop-worker", path: "/workers/w-1/stop", shows: async () => ["Stop the worker w-1?"] },
  { name: "fail-worker", path: "/workers/w-1/fail", shows: async () => ["Declare the worker w-1 dead?"] },
  { name: "schedules", path: "/schedules", shows: async () => ["hourly", "every 1h", "nightly", "0 3 * * * (Europe/Berlin)"] },
  {
    name: "actions",
    path: "/actions",
    shows: async (server) => (await server.get("/actions")).actions.flatMap((action) => [action.who, action.op, action.target]),
  },
  { name: "api", path: "/docs", shows: async () => ["/v1/queues/{queue}/claim"] },
];

// Pages outside the frame: sign-in, and an error.
export const BARE = [
  { name: "sign-in", path: "/sign-in" },
  { name: "not-found", path: "/queues/missing", status: 404 },
  { name: "invalid", path: "/queues/mail/jobs?min_attempt=x", status: 400 },
];
