// @ts-check
/** The decision screen, put together: keys, clicks, live updates. */
import { SessionEnded, send } from "./api.js";
import * as decide from "./decide.js";
import * as drafts from "./drafts.js";
import * as editor from "./editor.js";
import * as item from "./item.js";
import * as keys from "./keys.js";
import * as live from "./live.js";
import * as queue from "./queue.js";
import { announce, say, tickTimes } from "./words.js";
import { tellZone } from "./zone.js";

/** Do it; a session that ended or a lost connection is said, never thrown at the console. @param {Promise<unknown> | void} work */
const attempt = (work) => Promise.resolve(work).catch((error) => {
  if (error instanceof SessionEnded) live.sessionEnded();
  else if (!(error instanceof TypeError)) throw error;
});

/** @param {1 | -1} step */
function move(step) {
  const next = queue.beside(item.shown().dataset.id, step);
  if (!next) return;
  queue.focusOn(next);
  queue.mark(next);
  attempt(item.open(next));
}

function enter() {
  const within = (/** @type {string} */ place) => /** @type {HTMLElement | null} */ (item.shown().querySelector(`${place} button`));
  const way = within("#answer") ?? within("#noted");
  if (way) way.click();
  else document.getElementById("text")?.focus();
}

function save() {
  const shown = item.shown();
  if (!item.isReady()) return;
  if (editor.isAsking(shown)) decide.sendAsked();
  else if (editor.isEditing(shown)) /** @type {HTMLElement | null} */ (shown.querySelector("[data-ctrl-enter]"))?.click();
}

const help = () => /** @type {HTMLDialogElement} */ (document.getElementById("help")).showModal();

/** @param {string} key */
function press(key) {
  delete document.body.dataset.idle;
  if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "Enter") enter();
  else if (key === "?") help();
  else if (key === "o" || key === "d") item.compare();
  else if (key === "v") item.nextView();
  else {
    const button = /** @type {HTMLElement | null} */ (item.shown().querySelector(`[data-key="${key}"]`));
    if (button) decide.choose(String(button.dataset.verb));
  }
}

/** @type {Record<string, (button: HTMLElement) => unknown>} */
const DOES = {
  help,
  "sign-out": signOut,
  acknowledge,
  diff: () => item.compare(),
  cancel: () => editor.cancel(item.shown()),
  save: () => decide.sendEdited("edit"),
  "save-and-approve": () => decide.sendEdited("approve"),
  ask: () => decide.sendAsked(),
  "show-new": () => attempt(item.showNew()),
  "have-read": item.haveRead,
};

async function signOut() {
  const answer = await send("/sign-out", {}).catch(() => undefined);
  drafts.dropAll();
  location.assign(answer?.said.next ?? "/sign-in");
}

/** @param {HTMLElement} button */
async function acknowledge(button) {
  const answer = await send(`/v1/alerts/${button.dataset.id}/acknowledge`, {});
  if (!answer.ok) return;
  announce(say("acknowledged"));
  await queue.refresh(true);
}

/** @param {HTMLElement} button */
function pane(button) {
  document.body.dataset.pane = button.dataset.paneTo;
  for (const one of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-pane-to]"))) one.setAttribute("aria-pressed", String(one === button));
}

/** @param {HTMLElement} button */
function toggleRail(button) {
  const isOpen = document.body.toggleAttribute("data-rail");
  button.setAttribute("aria-expanded", String(isOpen));
}

addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const found = (/** @type {string} */ selector) => /** @type {HTMLElement | null} */ (target.closest(selector));
  const opener = found("[data-open]");
  if (opener && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    return void attempt(item.open(String(opener.dataset.open), { focus: opener.dataset.open === item.shown().dataset.id ? "text" : "" }));
  }
  const button = found("button");
  if (!button) return;
  if (button.dataset.paneTo) return pane(button);
  if (button.dataset.viewTo) return item.view(button.dataset.viewTo);
  if (button.classList.contains("to-rail")) return toggleRail(button);
  if (button.dataset.verb && item.isReady()) decide.choose(button.dataset.verb);
  if (button.dataset.do) attempt(/** @type {Promise<unknown>} */ (DOES[button.dataset.do](button)));
});
addEventListener("submit", (event) => { if (/** @type {HTMLElement} */ (event.target).closest("#item")) event.preventDefault(); });
addEventListener("input", (event) => editor.typedIn(item.shown(), event.target));
addEventListener("pointerdown", () => { delete document.body.dataset.idle; });

/** Something new while the person waits before an empty or finished screen: show it. */
async function lookAtQueue() {
  await queue.refresh();
  const isWaiting = !item.shown().dataset.id || "idle" in document.body.dataset;
  const first = queue.first();
  if (!isWaiting || !first || first === item.shown().dataset.id) return;
  delete document.body.dataset.idle;
  await item.open(first, { focus: "line" });
}

/** @type {Map<string, number>} */
const soon = new Map();
/** Many changes in a moment are one look. @param {string} what @param {() => Promise<unknown>} look */
function shortly(what, look) {
  if (soon.has(what)) return;
  soon.set(what, setTimeout(() => { soon.delete(what); attempt(look()); }, 120));
}

/** @param {{ kind: string, id: string }} change */
function changed({ kind, id }) {
  const { id: shownId, conversation } = item.shown().dataset;
  if (kind === "draft") return;
  shortly("queue", lookAtQueue);
  if (id === shownId || id === conversation) shortly("item", item.refresh);
}

function everything() {
  shortly("queue", lookAtQueue);
  shortly("item", item.refresh);
}

if (tellZone()) location.reload();
drafts.dropOld();
queue.watchPointer();
item.settleIn();
keys.listen({ press, save, leave: () => editor.cancel(item.shown()) });
live.listen({ changed, everything });
setInterval(tickTimes, 20_000);
const keysOn = /** @type {HTMLInputElement} */ (document.getElementById("keys-on"));
keysOn.checked = keys.areOn();
keysOn.addEventListener("change", () => keys.turn(keysOn.checked));
document.documentElement.dataset.ready = "";
