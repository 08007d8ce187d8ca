// @ts-check
/** Live updates of a page in use: regions marked `data-live` are renewed, everything else (fields above all) stays. */

/** @param {Element} shown @param {Element} fresh */
export function renew(shown, fresh) {
  for (const old of shown.querySelectorAll("[data-live]")) {
    const name = /** @type {HTMLElement} */ (old).dataset.live;
    const now = fresh.querySelector(`[data-live="${name}"]`);
    if (now && !old.isEqualNode(now)) replace(old, now);
  }
}

/** @param {Element} old @param {Element} now */
function replace(old, now) {
  const held = old.contains(document.activeElement) ? mark(document.activeElement) : "";
  if (old instanceof HTMLDetailsElement && now instanceof HTMLDetailsElement) now.open = old.open;
  const scrolled = old.querySelector(".chat");
  const isAtEnd = !scrolled || scrolled.scrollHeight - scrolled.scrollTop - scrolled.clientHeight < 40;
  const top = scrolled?.scrollTop ?? 0;
  old.replaceWith(now);
  const chat = now.querySelector(".chat");
  if (chat) chat.scrollTop = isAtEnd ? chat.scrollHeight : top;
  if (held) /** @type {HTMLElement | null} */ (now.querySelector(held) ?? now.querySelector("summary, a, button"))?.focus();
}

/** How to find an element again. @param {Element | null} focused */
function mark(focused) {
  const { verb, id, open } = /** @type {HTMLElement} */ (focused).dataset;
  return verb ? `[data-verb="${verb}"]` : id ? `[data-id="${id}"]` : open ? `[data-open="${open}"]` : "summary";
}
