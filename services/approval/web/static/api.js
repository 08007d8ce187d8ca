// @ts-check
/** Asking the server: parts of the page as HTML, decisions as JSON. */

export class SessionEnded extends Error {}

/** @typedef {{ status: number, ok: boolean, said: Record<string, any> }} Answer */

const token = () => /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=csrf]"));

/** A part of the page. What the page asks by itself keeps no session alive. @param {string} url @param {{ signal?: AbortSignal, isByItself?: boolean }} [how] @returns {Promise<HTMLElement>} */
export async function part(url, { signal, isByItself = false } = {}) {
  const answer = await fetch(url, { signal, headers: { accept: "text/html", ...(isByItself ? { "x-by-itself": "1" } : {}) } });
  if (answer.status === 401) throw new SessionEnded();
  if (!answer.ok && answer.status !== 404) throw new TypeError(`${url} answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return /** @type {HTMLElement} */ (page.body.firstElementChild);
}

/** @param {string} url @param {unknown} body @param {Record<string, string>} [headers] @returns {Promise<Answer>} */
export async function send(url, body, headers = {}) {
  const first = await sendOnce(url, body, headers);
  if (first.said.type !== "/problems/csrf" || !(await renewToken())) return first;
  return sendOnce(url, body, headers);
}

/** @param {string} url @param {unknown} body @param {Record<string, string>} headers @returns {Promise<Answer>} */
async function sendOnce(url, body, headers) {
  const known = { "content-type": "application/json", "x-csrf-token": token().content };
  const answer = await fetch(url, { method: "POST", headers: { ...known, ...headers }, body: JSON.stringify(body) });
  if (answer.status === 401) throw new SessionEnded();
  const text = await answer.text();
  return { status: answer.status, ok: answer.ok, said: text ? JSON.parse(text) : {} };
}

/** The same person may have signed in again in another tab; somebody else's session is never used from this page. */
async function renewToken() {
  const answer = await fetch("/v1/me");
  if (!answer.ok) return false;
  const me = await answer.json();
  if (me.email !== document.body.dataset.me) return false;
  token().content = me.csrf;
  return true;
}

/** Whether anybody is signed in; throws where there is no connection. */
export const isSignedIn = async () => (await fetch("/v1/me")).status !== 401;
