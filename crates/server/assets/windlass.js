// Makes pages live and quick to use. Everything on them also works without this script.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// Times: local, with UTC on hover. Without this script they are in UTC.
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
function localTimes(root) {
  for (const time of $$("time[datetime]", root)) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = time.dateTime.replace("T", " ").replace("Z", " UTC");
    time.textContent = timeFormat.format(at);
  }
}

// Changes an element into another one, and keeps what is equal: focus, selection and scroll position stay.
function morph(from, to) {
  // What the user opened stays open.
  for (const { name } of [...from.attributes]) if (name !== "open" && !to.hasAttribute(name)) from.removeAttribute(name);
  for (const { name, value } of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  const next = [...to.childNodes];
  next.forEach((node, at) => {
    const old = from.childNodes[at];
    if (!old) from.append(node);
    else if (old.nodeType !== node.nodeType || old.nodeName !== node.nodeName) old.replaceWith(node);
    else if (node.nodeType === Node.ELEMENT_NODE) {
      if (old.isEqualNode(node) || (old === document.activeElement && old.matches("input, select, textarea"))) return;
      morph(old, node);
    } else if (old.data !== node.data) old.data = node.data;
  });
  while (from.childNodes.length > next.length) from.lastChild.remove();
}

function replace(id, html) {
  const section = $(`[data-live="${id}"]`);
  if (!section) return;
  const next = section.cloneNode(false);
  // The server rendered this from the templates of the page itself, which escape all text.
  next.innerHTML = html;
  localTimes(next);
  morph(section, next);
  mark(row);
}

// Live updates, while the page is visible: a browser has few connections per server.
const indicator = $("#live");
let source;
function show(state, text) {
  indicator.hidden = false;
  indicator.dataset.state = state;
  if (indicator.textContent !== text) indicator.textContent = text;
}
function connect() {
  if (document.hidden || source) return;
  source = new EventSource(location.href);
  source.addEventListener("open", () => show("on", "Live"));
  source.addEventListener("fragment", (event) => {
    const { id, html } = JSON.parse(event.data);
    if (id === "status") replaceStatus(html);
    else replace(id, html);
  });
  source.addEventListener("signed_out", () => { disconnect(); show("off", "Signed out: reload to sign in"); });
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return show("wait", "Reconnecting…");
    disconnect();
    show("off", "Not live: reload the page");
  });
}
function replaceStatus(text) {
  $("[data-live=status]").textContent = text && `Not up to date: ${text}`;
}
function disconnect() {
  source?.close();
  source = undefined;
}
if (indicator) {
  connect();
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
}

// Rows: j and k move, Enter opens.
let row = -1;
const rows = () => $$("table.list tbody tr");
function mark(at) {
  rows().forEach((each, index) => each.classList.toggle("at", index === at));
}
function move(by) {
  const all = rows();
  if (!all.length) return;
  row = Math.max(0, Math.min(all.length - 1, row + by));
  mark(row);
  all[row].scrollIntoView({ block: "nearest" });
  $("a, button", all[row])?.focus({ preventScroll: true });
}

// One checkbox selects all jobs of a page.
const pickAll = $("#pick-all");
if (pickAll) {
  pickAll.hidden = false;
  pickAll.addEventListener("change", () => $$("input[name=ids]").forEach((each) => (each.checked = pickAll.checked)));
}

// Keyboard shortcuts.
const keys = $("#keys");
let went = 0;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const isSecond = Date.now() - went < 1500;
  went = 0;
  const link = isSecond && $$("nav.pages a").find((each) => each.dataset.key === event.key);
  if (link) location.assign(link.href);
  else if (event.key === "g") went = Date.now();
  else if (event.key === "?") keys?.showModal();
  else if (event.key === "/") $("input[type=search]")?.focus();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else return;
  event.preventDefault();
});
const showKeys = $("#show-keys");
if (showKeys) {
  showKeys.hidden = false;
  showKeys.addEventListener("click", () => keys.showModal());
}

// Text in an element with data-copy is copied by a click, where the browser allows it.
if (navigator.clipboard) {
  addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1200);
  });
  document.documentElement.classList.add("can-copy");
}

// A notice about something that was done is shown once.
const address = new URL(location.href);
if (address.searchParams.has("done")) {
  address.searchParams.delete("done");
  history.replaceState(null, "", address);
}
localTimes(document);
