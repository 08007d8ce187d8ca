// The customers' phone. The server says what is shown (one view per event); this file draws it and sends what is typed.

/** @typedef {{id: string, mine: boolean, by_hand: boolean, text: string, at: number, ack: number, edited: boolean, revoked: boolean}} Bubble */
/** @typedef {{id: string, name: string, unread: number}} Row */
/** @typedef {{session: string, failing: number, chat: string, typing: boolean, chats: Row[], messages: Bubble[]}} View */

/** @type {Record<string, string>} */
const texts = JSON.parse(document.body.dataset.texts ?? "{}");
const $ = (id) => document.getElementById(id);
const element = (tag, name, text) => Object.assign(document.createElement(tag), { className: name ?? "", textContent: text ?? "" });
const hour = new Intl.DateTimeFormat(texts.lang, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(texts.lang, { day: "numeric", month: "long" });
const TICKS = { "-1": "!", 0: "◷", 1: "✓", 2: "✓✓", 3: "✓✓", 4: "✓✓" };
const MEMORY = "chancela-phone-chat";

/** The chat that was open; in a frame of another site a browser may deny the memory, and then none is remembered. */
const memory = {
  read: () => { try { return sessionStorage.getItem(MEMORY) ?? ""; } catch { return ""; } },
  keep: (name) => { try { sessionStorage.setItem(MEMORY, name); } catch { /* denied: nothing to remember it with */ } },
};

let chat = memory.read();
let editing = null;
let isAnswering = false;
let stream = null;
const drafts = new Map();

function listen() {
  stream?.close();
  stream = new EventSource(`/_live?chat=${encodeURIComponent(chat)}&visible=${document.hidden ? 0 : 1}`);
  stream.onmessage = (event) => show(JSON.parse(event.data));
  stream.onerror = () => say(texts.offline);
}

/** @param {View} view */
function show(view) {
  const log = $("log");
  const wasAtEnd = isAnswering || view.chat !== $("bubbles").dataset.chat || log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  isAnswering = false;
  chat = view.chat;
  $("presence").textContent = view.session !== "WORKING" ? texts.down : view.typing ? texts.typing : texts.online;
  $("presence").classList.toggle("typing", view.typing);
  $("connected").checked = view.session === "WORKING";
  say(view.session !== "WORKING" ? texts.session_down : view.failing ? texts.webhook_failing : "");
  showPeople(view.chats);
  showMessages(view.messages);
  if (wasAtEnd) log.scrollTop = log.scrollHeight;
}

function say(text) {
  if ($("banner").textContent !== text) $("banner").textContent = text;
  $("banner").hidden = !text;
}

/** @param {Row[]} rows */
function showPeople(rows) {
  const focused = document.activeElement?.dataset?.chat;
  $("people").replaceChildren(...rows.map(tab));
  if (focused) $("people").querySelector(`[data-chat="${CSS.escape(focused)}"]`)?.focus();
}

/** @param {Row} row */
function tab(row) {
  const button = element("button");
  const isChosen = row.id === chat;
  button.type = "button";
  button.dataset.chat = row.id;
  button.setAttribute("aria-current", String(isChosen));
  const face = element("span", "face", row.name.replace("+", "").split(/\s+/).slice(0, 2).map((word) => word[0]).join("").toUpperCase());
  face.ariaHidden = "true";
  button.append(face, element("span", "", row.name));
  if (row.unread && !isChosen) {
    const count = element("span", "count", String(row.unread));
    count.title = texts.unread;
    button.append(count);
  }
  return button;
}

/** @param {Bubble[]} messages */
function showMessages(messages) {
  const list = $("bubbles");
  const isSameChat = list.dataset.chat === chat;
  const drawn = new Map(isSameChat ? [...list.children].map((node) => [node.dataset.key, node]) : []);
  const wanted = rowsOf(messages).map((row) => drawnOr(drawn, row, isSameChat));
  wanted.forEach((node, place) => list.children[place] === node || list.insertBefore(node, list.children[place] ?? null));
  while (list.children.length > wanted.length) list.lastChild.remove();
  list.dataset.chat = chat;
  $("empty").hidden = messages.length > 0;
}

/** Day lines and bubbles, each with a key and a state: what has both unchanged is left alone. @param {Bubble[]} messages */
function rowsOf(messages) {
  const rows = [];
  let last = "", side = null;
  for (const message of messages) {
    const date = new Date(message.at * 1000);
    const label = date.toDateString() === new Date().toDateString() ? texts.today : day.format(date);
    if (label !== last) rows.push({ key: `day ${label}`, state: label, draw: () => element("div", "day", label) });
    const isFirst = message.mine !== side || label !== last;
    rows.push({ key: message.id, state: JSON.stringify([message, isFirst]), draw: () => bubble(message, isFirst) });
    [last, side] = [label, message.mine];
  }
  return rows;
}

function drawnOr(drawn, row, isLive) {
  const before = drawn.get(row.key);
  if (before?.dataset.state === row.state) return before;
  const node = row.draw();
  node.dataset.key = row.key;
  node.dataset.state = row.state;
  node.classList.toggle("new", isLive && !before);
  before?.replaceWith(node);
  return node;
}

/** @param {Bubble} message @param {boolean} isFirst */
function bubble(message, isFirst) {
  const item = element("div", `bubble${message.mine ? " mine" : ""}${isFirst ? " first" : ""}${message.revoked ? " revoked" : ""}`);
  const words = element("p", "", message.revoked ? texts.revoked : message.text);
  words.dir = "auto";
  const foot = element("div", "foot");
  if (message.mine && !message.revoked) foot.append(acts(message));
  if (message.by_hand) foot.append(element("span", "", texts.by_hand));
  if (message.edited && !message.revoked) foot.append(element("span", "", texts.edited));
  foot.append(element("time", "", hour.format(new Date(message.at * 1000))));
  if (message.mine && !message.revoked) foot.append(ticks(message.ack));
  item.append(words, foot);
  return item;
}

function ticks(ack) {
  const mark = element("span", `ticks${ack >= 3 ? " read" : ack < 0 ? " bad" : ""}`, TICKS[ack]);
  mark.role = "img";
  mark.ariaLabel = mark.title = texts[`ack_${Math.min(ack, 3)}`];
  return mark;
}

/** @param {Bubble} message */
function acts(message) {
  const details = element("details", "acts");
  const summary = element("summary", "", "⋯");
  summary.ariaLabel = summary.title = texts.actions;
  const row = element("div");
  const edit = element("button", "", texts.edit);
  const revoke = element("button", "", texts.revoke);
  edit.addEventListener("click", () => startEdit(message));
  revoke.addEventListener("click", () => act("revoke", { id: message.id }));
  row.append(edit, revoke);
  details.append(summary, row);
  details.addEventListener("toggle", () => details.closest(".bubble").scrollIntoView({ block: "nearest" }));
  return details;
}

function startEdit(message) {
  editing = message?.id ?? null;
  $("editing").hidden = !editing;
  $("text").value = message?.text ?? "";
  $("text").focus();
}

async function act(name, values) {
  try {
    const answer = await fetch(`/_control/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ chat, ...values }),
    });
    if (!answer.ok) throw new Error(String(answer.status));
    return true;
  } catch {
    say(texts.failed);
    return false;
  }
}

function choose(next) {
  if (next === chat) return;
  drafts.set(chat, $("text").value);
  chat = next;
  memory.keep(chat);
  startEdit(null);
  $("text").value = drafts.get(chat) ?? "";
  listen();
}

$("people").addEventListener("click", (event) => {
  const button = event.target.closest("[data-chat]");
  if (button) choose(button.dataset.chat);
});

$("people").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tabs = [...$("people").children];
  const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
  next.focus();
  choose(next.dataset.chat);
  next.focus();
  event.preventDefault();
});

$("composer").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("text").value.trim();
  if (!text) return;
  const kept = editing;
  isAnswering = !kept;
  $("text").value = "";
  const left = await (kept ? act("edit", { id: kept, text }) : act("say", { text }));
  if (!left) $("text").value = text;
  else if (kept) startEdit(null);
});

$("text").addEventListener("keydown", (event) => {
  if (event.key === "Escape" && editing) startEdit(null);
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("composer").requestSubmit();
});

$("cancel").addEventListener("click", () => startEdit(null));
$("connected").addEventListener("change", (event) => act("session", { status: event.target.checked ? "WORKING" : "STOPPED" }));
$("owner").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await act("owner_reply", { text: $("owner-text").value })) {
    $("owner-text").value = "";
    $("options").open = false;
    $("text").focus();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") $("options").open = false;
});
document.addEventListener("visibilitychange", listen);

listen();
