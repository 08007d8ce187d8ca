// @ts-check
/**
 * Single keys. Inert in fields, with modifiers, while composing (IME) and on repeat; what decides is inert also in the
 * first 300 ms of an item, so that a key meant for one item never lands on the next. They can be switched off.
 */
import * as item from "./item.js";

const OFF = "chancela.keys-off";
/** Keys that only move or show; they need no time to read. */
const HARMLESS = new Set(["j", "k", "?", "o", "d", "v"]);

export const areOn = () => localStorage.getItem(OFF) === null;
/** @param {boolean} isOn */
export function turn(isOn) {
  if (isOn) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "yes");
}

/** @param {EventTarget | null} target */
const isField = (target) => target instanceof Element && Boolean(target.closest("input, textarea, select, [contenteditable]"));
/** @param {EventTarget | null} target */
const hasOwnEnter = (target) => target instanceof Element && Boolean(target.closest("a, button, summary, dialog"));

/** @param {{ press: (key: string) => void, save: () => void, leave: () => void }} on */
export function listen(on) {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.repeat || event.altKey) return;
    const isDialogOpen = document.querySelector("dialog[open]") !== null;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); on.save(); return; }
    if (event.key === "Escape" && !isDialogOpen) { on.leave(); return; }
    if (event.ctrlKey || event.metaKey || isDialogOpen || isField(event.target) || !areOn()) return;
    if (event.key === "Enter" && hasOwnEnter(event.target)) return;
    if (event.key !== "Enter" && !/^[a-z?]$/.test(event.key)) return;
    if (!HARMLESS.has(event.key) && !item.isReady()) return;
    on.press(event.key);
    if (/^[a-z?]$/.test(event.key)) event.preventDefault();
  });
}
