// @ts-check
/** The words that scripts say, and the one place where they are said to people who do not see the page. */

/** @type {Record<string, string>} */
const words = JSON.parse(document.getElementById("words")?.textContent ?? "{}");

/** @param {string} key @param {Record<string, unknown>} [values] */
export const say = (key, values = {}) =>
  (words[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));

/** Said politely, once. @param {string} text */
export function announce(text) {
  const live = /** @type {HTMLElement} */ (document.getElementById("live"));
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = text; });
}

/** Times in a text from the API, in the reader's way. @param {string} text */
export const withLocalTimes = (text) =>
  text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, (iso) =>
    new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "short", timeStyle: "short" }).format(new Date(iso)));

const STEPS = /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60]]);

/** Keep "in 12 min" true. */
export function tickTimes() {
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { style: "short" });
  for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[data-relative]"))) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
    const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size * 1.2) ?? STEPS[2];
    time.textContent = format.format(Math.round(seconds / size), unit);
  }
}

/** An element with text and children. @param {string} tag @param {Record<string, string>} attributes @param {...(Node | string)} inside */
export function element(tag, attributes, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}
