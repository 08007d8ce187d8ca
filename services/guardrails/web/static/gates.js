// @ts-check
/** Everything works without this: it tells the reader's zone, and that a form is on its way. */
import { tellZone } from "./zone.js";

if (tellZone()) location.reload();
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "1";
  event.submitter?.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
  for (const busy of document.querySelectorAll("[aria-busy]")) busy.removeAttribute("aria-busy");
});
/** The first field with a fault, where there is one: the reader need not look for it. */
/** @type {HTMLElement | null} */ (document.querySelector("[aria-invalid=true]"))?.focus();
document.documentElement.dataset.ready = "1";
