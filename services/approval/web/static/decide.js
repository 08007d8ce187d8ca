// @ts-check
/** Decisions: each bound to the text on the screen by its ETag, each sent under a key that makes a repeat harmless. */
import { SessionEnded, send } from "./api.js";
import * as drafts from "./drafts.js";
import * as editor from "./editor.js";
import * as item from "./item.js";
import { sessionEnded } from "./live.js";
import * as queue from "./queue.js";
import { announce, element, say, withLocalTimes } from "./words.js";

const GOES_ON = new Set(["approve", "reject", "send_back", "withdraw"]);
const OWNERSHIP = /** @type {Record<string, string>} */ ({ take_over: "takeover", give_back: "return" });
let isBusy = false;
/** @type {Map<string, string>} */
const keys = new Map();

/** A verb was chosen, by key or button. @param {string} verb */
export function choose(verb) {
  const shown = item.shown();
  const button = /** @type {HTMLButtonElement | null} */ (shown.querySelector(`[data-verb="${verb}"]`));
  if (!button || button.disabled) {
    announce(shown.querySelector("[data-semantic-id='decision.why-not']")?.textContent ?? say("not_allowed"));
  } else if (verb === "edit") editor.edit(shown);
  else if (verb === "approve" && editor.isEditing(shown) && editor.edited(shown) !== null) {
    tell("warn", say("unsaved"));
    editor.field(shown).focus();
  }
  else if (button.dataset.words) editor.ask(shown, button);
  else act(verb, {});
}

/** The words of a verb are complete. */
export function sendAsked() {
  const asked = editor.asked(item.shown());
  if (!asked) return;
  const field = asked.verb === "send_back" ? "instruction" : "reason";
  act(asked.verb, { [field]: asked.words });
}

/** @param {"approve" | "edit"} verb */
export function sendEdited(verb) {
  const shown = item.shown();
  if (!editor.isFit(shown)) return;
  const text = editor.edited(shown);
  if (text === null && verb === "edit") editor.cancel(shown);
  else act(verb, text === null ? {} : { edited_text: text });
}

/** @param {string} verb @param {Record<string, unknown>} body */
async function act(verb, body) {
  if (isBusy) return;
  isBusy = true;
  const shown = item.shown();
  const button = shown.querySelector(`[data-verb="${verb}"]`);
  button?.setAttribute("aria-busy", "true");
  tell();
  const answer = await (verb in OWNERSHIP ? own(shown, verb, body) : decide(shown, verb, body)).catch((error) => {
    if (error instanceof SessionEnded) sessionEnded();
    else tell("bad", say("no_answer"), "", [say("try_again"), () => act(verb, body)]);
  });
  isBusy = false;
  button?.removeAttribute("aria-busy");
  if (answer?.ok) await looked(done(shown, verb));
  else if (answer) await looked(refused(verb, body, answer.said));
}

/** The decision is known; a look at what comes next that fails is made again when the connection is back. @param {Promise<unknown>} look */
const looked = (look) => look.catch((error) => { if (error instanceof SessionEnded) sessionEnded(); });

/** @param {HTMLElement} shown @param {string} verb @param {Record<string, unknown>} body */
async function decide(shown, verb, body) {
  const { id, etag = "", revision } = shown.dataset;
  const optOut = /** @type {HTMLInputElement | null} */ (shown.querySelector("#reply-after-opt-out"))?.checked;
  const wish = { verb, context_revision: Number(revision), ...(optOut ? { reply_after_opt_out: true } : {}), ...body };
  const asked = `${etag} ${JSON.stringify(wish)}`;
  const key = keys.get(asked) ?? crypto.randomUUID();
  keys.set(asked, key);
  return send(`/v1/obligations/${id}/decisions`, wish, { "if-match": etag, "idempotency-key": key });
}

/** @param {HTMLElement} shown @param {string} verb @param {Record<string, unknown>} body */
function own(shown, verb, body) {
  const asked = { expected_version: Number(shown.dataset.ownerVersion), reason: body.reason ?? "" };
  return send(`/v1/conversations/${shown.dataset.conversation}/${OWNERSHIP[verb]}`, asked);
}

/** @param {HTMLElement} shown @param {string} verb */
async function done(shown, verb) {
  const id = String(shown.dataset.id);
  drafts.drop(id);
  if (!GOES_ON.has(verb)) {
    announce(say(`done.${verb}`));
    await item.open(id, { focus: "text" });
    return queue.refresh(true);
  }
  const next = queue.beside(id, 1) ?? queue.beside(id, -1);
  queue.strike(id);
  queue.announceNext(next, say(`done.${verb}`));
  await item.open(next ?? id, { focus: next ? "line" : "text" });
  if (!next) document.body.dataset.idle = "";
  return queue.refresh(true);
}

/** @param {string} verb @param {Record<string, unknown>} body @param {Record<string, any>} problem */
async function refused(verb, body, problem) {
  const slug = String(problem.type).replace("/problems/", "");
  const detail = withLocalTimes(`${problem.title}. ${problem.detail}`);
  tell("bad", detail, say(`todo.${slug}`), wayOut(slug, verb, body, problem));
  if (!["stale-revision", "unfit", "csrf"].includes(slug)) await Promise.all([item.refresh(), queue.refresh()]);
}

/** What the person can do about it. @param {string} slug @param {string} verb @param {Record<string, unknown>} body @param {Record<string, any>} problem @returns {[string, () => void] | undefined} */
function wayOut(slug, verb, body, problem) {
  const next = queue.beside(item.shown().dataset.id, 1) ?? queue.first();
  const goOn = /** @type {[string, () => void] | undefined} */ (next && [say("next"), () => item.open(next, { focus: "line" })]);
  switch (slug) {
    case "stale-revision": return [say("show_new"), item.showNew];
    case "context-changed": return [say("anyway"), () => {
      item.shown().dataset.revision = String(problem.heard_context_revision);
      item.shown().querySelector("[data-code=wrote]")?.remove();
      act(verb, body);
    }];
    case "repeats-uncertain": return [say("repeat"), () => act(verb, { ...body, confirm_repeat: true })];
    case "sign-in-again": return [say("sign_in"), () => location.assign(problem.url)];
    case "csrf": return [say("reload"), () => location.reload()];
    case "already-decided": case "ended": case "expired": return goOn;
    default: return undefined;
  }
}

/** Say it beside the buttons and aloud; without a text, say nothing any more. @param {string} [tone] @param {string} [text] @param {string} [todo] @param {[string, () => void]} [way] */
function tell(tone = "", text = "", todo = "", way) {
  const box = item.shown().querySelector("#answer");
  if (!box) return;
  if (!text) return box.replaceChildren();
  const told = element("div", { class: `banner ${tone}` }, element("b", { dir: "auto" }, text), element("span", {}, todo));
  if (way) {
    const button = element("button", { type: "button", class: "btn small" }, way[0], " ", element("kbd", {}, "Enter"));
    button.addEventListener("click", way[1]);
    told.append(button);
  }
  box.replaceChildren(told);
  announce(`${text} ${todo}`);
}
