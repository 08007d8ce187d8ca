// @ts-check
/**
 * The item on the screen. Its text changes only when the person asks for it: a live update renews what stands around
 * the text, and says that there is a newer text or message.
 */
import { part } from "./api.js";
import * as drafts from "./drafts.js";
import * as editor from "./editor.js";
import { renew } from "./patch.js";
import * as queue from "./queue.js";
import { announce, element, say } from "./words.js";

/** @type {AbortController | null} */
let opening = null;
let settling = 0;
const GUARD_MS = 300;

export const shown = () => /** @type {HTMLElement} */ (document.getElementById("item"));
/** Long enough on the screen to be what the person means. */
export const isReady = () => "settled" in shown().dataset;

/** Keys that decide are inert from the moment another item was asked for. @param {boolean} [isShown] */
function unsettle(isShown = true) {
  clearTimeout(settling);
  delete shown().dataset.settled;
  if (isShown) settling = setTimeout(() => { shown().dataset.settled = ""; }, GUARD_MS);
}

/** @param {string} id @param {{ focus?: "line" | "text" | "", seen?: string }} [how] */
export async function open(id, { focus = "", seen = "" } = {}) {
  opening?.abort();
  opening = new AbortController();
  unsettle(false);
  const fresh = await part(`/parts/items/${id}${seen ? `?seen=${seen}` : ""}`, { signal: opening.signal }).catch((error) => {
    if (error.name === "AbortError") return null;
    queue.mark(shown().dataset.id);
    unsettle();
    throw error;
  });
  if (!fresh) return;
  put(fresh);
  history.replaceState(null, "", address(id));
  queue.mark(id);
  if (seen) compare(true);
  if (focus === "line") queue.focusOn(id);
  if (focus === "text") document.getElementById("text")?.focus();
}

/** @param {string} id */
function address(id) {
  const show = document.getElementById("rail")?.dataset.show;
  const query = show && show !== "open" ? `show=${show}` : "";
  if (document.body.dataset.home === "/") return `/?item=${id}${query && `&${query}`}`;
  return `/approvals/${id}${query && `?${query}`}`;
}

/** @param {HTMLElement} fresh */
function put(fresh) {
  shown().replaceWith(fresh);
  settleIn();
}

/** Begin with the item that is in the page now. */
export function settleIn() {
  unsettle();
  delete document.body.dataset.rail;
  const chat = shown().querySelector(".chat");
  if (chat) chat.scrollTop = chat.scrollHeight;
  const { id } = shown().dataset;
  const typed = id && drafts.typed(id);
  if (typed && editor.restore(shown(), typed)) announce(say("restored"));
}

export async function refresh() {
  const before = shown();
  const { id, etag, state, revision } = before.dataset;
  if (!id) return;
  const fresh = await part(`/parts/items/${id}`, { isByItself: true });
  if (shown() !== before || !fresh.dataset.id) return;
  if (fresh.dataset.etag !== etag) {
    if (state === "open" || editor.isOpen(before)) note("changed", say("changed"), say("show_new"), "show-new");
    else put(fresh);
    return;
  }
  renew(before, fresh);
  if (fresh.dataset.state !== state) changedTo(before, fresh);
  before.dataset.ownerVersion = fresh.dataset.ownerVersion;
  if (Number(fresh.dataset.revision) <= Number(revision)) return;
  if (fresh.dataset.state !== "open") before.dataset.revision = fresh.dataset.revision;
  else note("wrote", say("wrote"), say("have_read"), "have-read", String(fresh.dataset.revision));
}

/** @param {HTMLElement} before @param {HTMLElement} fresh */
function changedTo(before, fresh) {
  unsettle();
  before.dataset.state = fresh.dataset.state;
  announce(before.querySelector("[data-live=banners] .banner")?.textContent ?? "");
}

/** A notice that waits for the person. @param {string} code @param {string} text @param {string} label @param {string} act @param {string} [value] */
function note(code, text, label, act, value = "") {
  const notes = /** @type {HTMLElement} */ (shown().querySelector("#noted"));
  const known = /** @type {HTMLElement | null} */ (notes.querySelector(`[data-code=${code}] button`));
  if (known) { known.dataset.value = value; return; }
  const button = element("button", { type: "button", class: "btn small", "data-do": act, "data-value": value }, label, " ", element("kbd", {}, "Enter"));
  notes.append(element("p", { class: "banner warn", "data-code": code }, element("b", {}, text), button));
  announce(text);
}

export const showNew = () => open(String(shown().dataset.id), { seen: shown().dataset.epoch, focus: "text" });

/** @param {HTMLElement} button */
export function haveRead(button) {
  shown().dataset.revision = button.dataset.value;
  button.closest(".banner")?.remove();
  document.getElementById("text")?.focus({ preventScroll: true });
}

/** @param {string} view */
export function view(view) {
  const card = /** @type {HTMLElement | null} */ (shown().querySelector(".card.text"));
  if (!card) return;
  card.dataset.view = view;
  for (const name of ["rendered", "raw", "bytes"]) {
    card.querySelector(`.view-${name}`)?.toggleAttribute("hidden", name !== view);
    card.querySelector(`[data-view-to=${name}]`)?.setAttribute("aria-pressed", String(name === view));
  }
}

export function nextView() {
  const names = ["rendered", "raw", "bytes"];
  const now = /** @type {HTMLElement | null} */ (shown().querySelector(".card.text"))?.dataset.view ?? "rendered";
  view(names[(names.indexOf(now) + 1) % names.length]);
}

/** @param {boolean} [isOn] */
export function compare(isOn) {
  const diffs = shown().querySelector(".diffs");
  if (!diffs) return;
  const now = isOn ?? diffs.hasAttribute("hidden");
  diffs.toggleAttribute("hidden", !now);
  shown().querySelector("[data-do=diff]")?.setAttribute("aria-pressed", String(now));
}
