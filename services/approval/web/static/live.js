// @ts-check
/** Server-sent events: ids of what changed. Without a connection the page says so, and keeps what is typed. */
import { isSignedIn } from "./api.js";
import { announce, element, say } from "./words.js";

const RETRY_MS = 3000;
let wasOffline = false;

/** @param {{ changed: (change: { kind: string, id: string }) => void, everything: () => void }} on */
export function listen(on) {
  const source = new EventSource("/v1/events");
  source.addEventListener("hello", () => online(on.everything));
  source.addEventListener("resync", on.everything);
  source.addEventListener("change", (event) => on.changed(JSON.parse(event.data)));
  source.addEventListener("error", async () => {
    offline();
    if (source.readyState !== EventSource.CLOSED) return;
    const isEnded = await isSignedIn().then((is) => !is, () => false);
    if (isEnded) sessionEnded();
    else setTimeout(() => listen(on), RETRY_MS);
  });
  addEventListener("pagehide", () => source.close(), { once: true });
}

const notices = () => /** @type {HTMLElement} */ (document.getElementById("notices"));
const link = () => /** @type {HTMLElement} */ (document.getElementById("link"));

/** @param {() => void} lookAnew */
function online(lookAnew) {
  link().dataset.state = "on";
  link().textContent = link().dataset.on ?? "";
  notices().querySelector("[data-code=offline]")?.remove();
  if (wasOffline) { announce(say("online")); lookAnew(); }
  wasOffline = false;
}

function offline() {
  if (wasOffline) return;
  wasOffline = true;
  link().dataset.state = "off";
  link().textContent = link().dataset.off ?? "";
  notices().append(element("p", { class: "banner bad", "data-code": "offline" }, say("offline")));
  announce(say("offline"));
}

/** The person must sign in again; this page and what is typed in it stay. */
export function sessionEnded() {
  if (notices().querySelector("[data-code=session]")) return;
  const back = encodeURIComponent(location.pathname + location.search);
  const again = element("a", { class: "btn small", href: `/sign-in?next=${back}` }, say("sign_in"));
  notices().replaceChildren(element("p", { class: "banner bad", "data-code": "session" }, say("session_ended"), again));
  announce(say("session_ended"));
}
