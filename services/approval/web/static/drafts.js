// @ts-check
/**
 * What a person typed and has not saved: kept in this browser, by person, item and epoch, until it is used, the person
 * signs out, or a week has passed.
 */

const PREFIX = "chancela.typed|";
const WEEK_MS = 7 * 86_400_000;

/** @typedef {{ field: string, epoch: number, text: string, at: number }} Typed */

/** @param {string} item */
const prefix = (item) => `${PREFIX}${document.body.dataset.me}|${item}|`;
const names = () => Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));

/** @param {string} item @param {string} epoch @param {string} field @param {string} text */
export function keep(item, epoch, field, text) {
  localStorage.setItem(`${prefix(item)}${epoch}|${field}`, JSON.stringify({ text, at: Date.now() }));
}

/** @param {string} item @param {string} [field] */
export function drop(item, field = "") {
  for (const name of names()) {
    if (name.startsWith(prefix(item)) && name.endsWith(field && `|${field}`)) localStorage.removeItem(name);
  }
}

/** The newest typed text of an item. @param {string} item @returns {Typed | undefined} */
export function typed(item) {
  const found = names().filter((name) => name.startsWith(prefix(item))).map((name) => {
    const [epoch, field] = name.slice(prefix(item).length).split("|");
    return { field, epoch: Number(epoch), ...JSON.parse(localStorage.getItem(name) ?? "{}") };
  });
  return found.sort((a, b) => b.at - a.at)[0];
}

export function dropAll() {
  for (const name of names()) localStorage.removeItem(name);
}

export function dropOld() {
  for (const name of names()) {
    if (Date.now() - JSON.parse(localStorage.getItem(name) ?? "{}").at > WEEK_MS) localStorage.removeItem(name);
  }
}
