// @ts-check
/** Fields of an item: the text edited in place, and the words that go with a verb. What is typed is kept at each stroke. */
import * as drafts from "./drafts.js";
import { announce, say } from "./words.js";

/** @typedef {HTMLElement} Item */

/** @param {Item} item */
const card = (item) => /** @type {HTMLElement} */ (item.querySelector(".card.text"));
/** @param {Item} item */
const form = (item) => /** @type {HTMLFormElement | null} */ (item.querySelector(".editor"));
/** @param {Item} item */
export const field = (item) => /** @type {HTMLTextAreaElement} */ (item.querySelector("#edited"));
/** @param {Item} item */
const asking = (item) => /** @type {HTMLFormElement | null} */ (item.querySelector(".asking"));
/** @param {Item} item */
const answer = (item) => /** @type {HTMLTextAreaElement} */ (item.querySelector("#words-of-verb"));

/** @param {Item} item */
export const isEditing = (item) => form(item)?.hidden === false;
/** @param {Item} item */
export const isAsking = (item) => asking(item)?.hidden === false;
/** @param {Item} item */
export const isOpen = (item) => isEditing(item) || isAsking(item);

/** @param {Item} item @param {{ focus?: boolean, isBehind?: boolean }} [how] */
export function edit(item, { focus = true, isBehind = false } = {}) {
  const editor = form(item);
  if (!editor) return;
  closeAsking(item);
  editor.hidden = false;
  card(item).toggleAttribute("data-editing", true);
  card(item).toggleAttribute("data-is-behind", isBehind);
  editor.querySelector("[data-behind]")?.toggleAttribute("hidden", !isBehind);
  fit(item);
  if (!focus) return;
  field(item).focus();
  field(item).setSelectionRange(field(item).value.length, field(item).value.length);
}

/** The text as typed; null when it is what was shown. @param {Item} item */
export function edited(item) {
  const { value, defaultValue } = field(item);
  return value === defaultValue ? null : value;
}

/** @param {Item} item */
function fit(item) {
  const area = field(item);
  area.rows = Math.min(18, Math.max(5, area.value.split("\n").length + Math.ceil(area.value.length / 70)));
  const length = [...area.value].length;
  const shown = /** @type {HTMLElement} */ (item.querySelector("#edit-length"));
  shown.textContent = (shown.dataset.of ?? "").replace("{n}", String(length));
  shown.toggleAttribute("data-over", length > Number(item.dataset.limit));
}

/** Whether the typed text may be sent; says why not. @param {Item} item */
export function isFit(item) {
  const length = [...field(item).value].length;
  const limit = Number(item.dataset.limit);
  if (length > limit) announce(say("too_long", { n: length, limit }));
  else if (!field(item).value.trim()) announce(say("empty"));
  else return true;
  field(item).focus();
  return false;
}

/** @param {Item} item @param {HTMLElement} button @param {boolean} [focus] */
export function ask(item, button, focus = true) {
  const panel = asking(item);
  if (!panel) return;
  const { verb = "", words = "", wordsDo = "" } = button.dataset;
  if (panel.dataset.verb !== verb) answer(item).value = "";
  panel.dataset.verb = verb;
  panel.dataset.needed = button.dataset.wordsNeeded;
  panel.querySelector("label")?.replaceChildren(words);
  panel.querySelector("[data-do=ask] span")?.replaceChildren(wordsDo);
  answer(item).required = button.dataset.wordsNeeded === "yes";
  panel.hidden = false;
  if (focus) answer(item).focus();
}

/** The verb that is being asked about with its words; null, and said why, when they are needed and missing. @param {Item} item */
export function asked(item) {
  const { verb = "", needed } = /** @type {HTMLElement} */ (asking(item)).dataset;
  const words = answer(item).value;
  if (needed !== "yes" || words.trim()) return { verb, words };
  announce(say("needs_words"));
  answer(item).focus();
  return null;
}

/** @param {Item} item */
export function closeAsking(item) {
  const panel = asking(item);
  if (panel) panel.hidden = true;
}

/** Leave the field; what was typed is given up. @param {Item} item */
export function cancel(item) {
  if (isAsking(item)) {
    drafts.drop(String(item.dataset.id), asking(item)?.dataset.verb);
    answer(item).value = "";
    closeAsking(item);
  } else if (isEditing(item)) {
    drafts.drop(String(item.dataset.id), "edit");
    field(item).value = field(item).defaultValue;
    /** @type {HTMLElement} */ (form(item)).hidden = true;
    card(item).removeAttribute("data-editing");
  }
  document.getElementById("text")?.focus({ preventScroll: true });
}

/** Keep what is typed. @param {Item} item @param {EventTarget | null} target */
export function typedIn(item, target) {
  const { id = "", epoch = "" } = item.dataset;
  if (target === field(item)) {
    fit(item);
    drafts.keep(id, epoch, "edit", field(item).value);
  } else if (target === answer(item)) {
    drafts.keep(id, epoch, String(asking(item)?.dataset.verb), answer(item).value);
  }
}

/** Bring back what was typed on this item, whatever epoch it was typed on. @param {Item} item @param {drafts.Typed} typed */
export function restore(item, typed) {
  if (typed.field === "edit") {
    if (!form(item) || !item.querySelector("[data-verb=edit]:not(:disabled)")) return false;
    field(item).value = typed.text;
    edit(item, { focus: false, isBehind: typed.epoch !== Number(item.dataset.epoch) });
    return true;
  }
  const button = /** @type {HTMLElement | null} */ (item.querySelector(`[data-verb="${typed.field}"]`));
  if (!button || !typed.text) return false;
  ask(item, button, false);
  answer(item).value = typed.text;
  return true;
}
