// @ts-check
/** The local sign-in: back to where the person was. Without scripts the form works too. */
import { tellZone } from "./zone.js";

tellZone();
document.querySelector("form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const email = /** @type {HTMLButtonElement} */ (event.submitter).value;
  const answer = await fetch("/sign-in", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ email }) });
  const back = /** @type {HTMLInputElement} */ (document.querySelector("[name=next]")).value;
  location.assign(answer.ok ? back : "/sign-in?why=unknown");
});
