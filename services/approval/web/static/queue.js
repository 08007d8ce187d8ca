// @ts-check
/**
 * The queue rail. While the pointer or the focus is in it, its lines keep their places: what is decided elsewhere is
 * struck out where it stands, what is new joins at the end. A click never lands on another item because the list moved.
 */
import { SessionEnded, part } from "./api.js";
import { sessionEnded } from "./live.js";
import { renew } from "./patch.js";
import { announce, say, tickTimes } from "./words.js";

let isPointerIn = false;
let isFetching = false;
let isAskedAgain = false;
/** @type {HTMLElement | null} */
let latest = null;

const rail = () => /** @type {HTMLElement} */ (document.getElementById("rail"));
const list = () => /** @type {HTMLElement} */ (document.getElementById("items"));
const lines = () => /** @type {HTMLElement[]} */ ([...list().children]);
const living = () => lines().filter((line) => !("gone" in line.dataset));
const link = (/** @type {Element | undefined} */ line) => /** @type {HTMLElement | null} */ (line?.querySelector("a") ?? null);

export function watchPointer() {
  rail().addEventListener("pointerenter", (event) => { isPointerIn = event.pointerType === "mouse"; });
  rail().addEventListener("pointerleave", () => { isPointerIn = false; settle(); });
  rail().addEventListener("focusout", () => setTimeout(settle));
}

const isHeld = () => isPointerIn || list().contains(document.activeElement);

/** The order of the server, as soon as nobody is in the list. */
function settle() {
  if (!latest || isHeld()) return;
  merge(latest, false);
  renew(rail(), latest);
}

/** Ask for the rail; `isOwn`: after this person's own decision, when the list may move under the keyboard's focus. */
export async function refresh(isOwn = false) {
  if (isFetching) { isAskedAgain = true; return; }
  isFetching = true;
  try {
    const { show } = rail().dataset;
    const fresh = await part(`/parts/queue?show=${show}${shownId() ? `&chosen=${shownId()}` : ""}`, { isByItself: !isOwn });
    for (const count of /** @type {NodeListOf<HTMLElement>} */ (fresh.querySelectorAll("[data-count]"))) {
      for (const shown of document.querySelectorAll(`[data-count="${count.dataset.count}"]`)) shown.textContent = count.textContent;
    }
    latest = fresh;
    merge(fresh, isOwn ? isPointerIn : isHeld());
    if (isOwn || !isPointerIn) renew(rail(), fresh);
    tickTimes();
  } finally {
    isFetching = false;
    if (isAskedAgain) { isAskedAgain = false; setTimeout(refreshAgain, 150); }
  }
}

/** Nobody waits for this look: where it fails, the next news or the connection's return brings another. */
const refreshAgain = () => refresh().catch((error) => { if (error instanceof SessionEnded) sessionEnded(); });

const shownId = () => document.getElementById("item")?.dataset.id;

/** @param {HTMLElement} fresh @param {boolean} isHeldNow */
function merge(fresh, isHeldNow) {
  const focused = document.activeElement;
  const news = new Map(/** @type {HTMLElement[]} */ ([...fresh.querySelectorAll("#items > li")]).map((line) => [line.dataset.id, line]));
  const order = [...news.keys()];
  const known = new Map(lines().map((line) => [line.dataset.id, line]));
  for (const [id, line] of known) {
    const now = news.get(id);
    if (now) refill(line, now);
    else if (isHeldNow) gone(line);
    else line.remove();
  }
  const place = (/** @type {string | undefined} */ id) => known.get(id) ?? /** @type {HTMLElement} */ (news.get(id)).cloneNode(true);
  if (isHeldNow) list().append(...order.filter((id) => !known.has(id)).map(place));
  else order.forEach((id, at) => { const line = place(id); if (list().children[at] !== line) list().insertBefore(line, list().children[at] ?? null); });
  mark(shownId());
  if (focused !== document.activeElement && focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
}

/** @param {HTMLElement} line @param {HTMLElement} now */
function refill(line, now) {
  delete line.dataset.gone;
  const [old, fresh] = [link(line), link(now)];
  if (old && fresh && old.innerHTML !== fresh.innerHTML) old.replaceChildren(...[...fresh.cloneNode(true).childNodes]);
}

/** @param {HTMLElement} line */
function gone(line) {
  if ("gone" in line.dataset) return;
  line.dataset.gone = "";
  line.querySelector(".when")?.replaceChildren(say("gone"));
}

/** @param {string | undefined} id */
export function mark(id) {
  for (const line of lines()) {
    if (line.dataset.id === id) link(line)?.setAttribute("aria-current", "true");
    else link(line)?.removeAttribute("aria-current");
  }
}

/** @param {string} id */
export function strike(id) {
  const line = lines().find((one) => one.dataset.id === id);
  if (line) gone(line);
}

/** The item one step away from another, skipping what is decided; from nowhere, the first. @param {string | undefined} id @param {1 | -1} step */
export function beside(id, step) {
  const all = lines();
  const at = all.findIndex((line) => line.dataset.id === id);
  if (at < 0) return living()[0]?.dataset.id;
  for (let i = at + step; i >= 0 && i < all.length; i += step) if (!("gone" in all[i].dataset)) return all[i].dataset.id;
  return undefined;
}

export const first = () => living()[0]?.dataset.id;

/** @param {string} id */
export function focusOn(id) {
  const line = lines().find((one) => one.dataset.id === id);
  line?.scrollIntoView({ block: "nearest" });
  link(line)?.focus({ preventScroll: true });
}

/** @param {string} id */
export const nameOf = (id) => lines().find((one) => one.dataset.id === id)?.querySelector(".who")?.textContent ?? "";

/** @param {string | undefined} id @param {string} said */
export function announceNext(id, said) {
  announce(`${said} ${id ? say("next_is", { who: nameOf(id) }) : say("none_left")}`);
}
