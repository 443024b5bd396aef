// What pages do beyond HTML: they follow changes, are driven by keys, and cards can be dragged. Without it, all still works by forms.
"use strict";

const root = document.documentElement;
const project = root.dataset.project;
const page = (name) => `/${project}/${name}`;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
/** What moves the focus: a card, a row of what waits, a line of the list. */
const ITEMS = ".card, .rows > li, .list tbody tr[data-task]";
const mainLink = (item) => item.querySelector("h3 a, .twist, .title a");

// --- Choices of this browser --------------------------------------------------------------------------------------------------------

const THEMES = { "": "as the system", light: "light", dark: "dark" };
const theme = () => localStorage.getItem("aof-theme") ?? "";
const hasKeys = () => localStorage.getItem("aof-keys") !== "off";

function showTheme() {
  if (theme()) root.dataset.theme = theme();
  else delete root.dataset.theme;
  for (const own of all("[data-theme-next] span")) own.textContent = THEMES[theme()];
}
showTheme();

// --- Live updates -----------------------------------------------------------------------------------------------------------------
// HTTP/1.1 allows six connections to a server, so one tab of the browser holds the stream, and tells the others.

let wanted = root.dataset.version;
let isLoading = false;
/** The pause before a page that did not come is asked for again. */
const RETRY_MS = 1000;

/** Takes in that a project has another state. */
function onChange(change) {
  if ("away" in change) return showAway(change.away);
  if (change.project !== project) return;
  const count = document.querySelector("[data-waiting]");
  if (count && count.textContent !== String(change.waiting || "")) {
    if (change.waiting > Number(count.textContent)) notify(change.waiting);
    count.textContent = change.waiting || "";
  }
  if (change.version !== wanted) {
    wanted = change.version;
    refresh();
  }
}

async function load(address) {
  const answer = await fetch(address, { headers: { "x-live": "1" } });
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}

/** Loads this page again, and puts in what differs. */
async function refresh() {
  if (isLoading) return;
  isLoading = true;
  try {
    for (let loaded = null; loaded !== wanted; ) {
      const [version, address] = [wanted, location.href];
      const newer = await load(address);
      if (!newer) break;
      // A filter that was typed meanwhile is another address, and its answer is there.
      if (address !== location.href) continue;
      loaded = version;
      show(newer);
    }
  } catch {
    // The server or the network is away. The stream need not have noticed, so it may tell nothing when they are back.
    setTimeout(refresh, RETRY_MS);
  } finally {
    isLoading = false;
  }
}

let asked = 0;

/** Shows another address of this page without leaving it; of several, the last one asked for. */
async function swap(address) {
  const number = ++asked;
  const newer = await load(address);
  if (!newer || number !== asked) return;
  history.replaceState(null, "", address);
  show(newer);
  if (root.dataset.version !== wanted) refresh();
}

const isOpen = (part) => part.querySelector(":popover-open, details.acts-menu[open], .fields details[open]");

/** Puts in the parts of a newer page that differ. Whole parts are replaced, so nothing that stays is seen to move. */
function show(newer) {
  root.dataset.version = newer.documentElement.dataset.version;
  if (dragged) return;
  const focused = document.activeElement;
  const [item, isTwist] = [focused?.closest("[id]")?.id, focused?.matches(".twist")];
  const places = new Map(all(".cards, .board").map((list) => [placeOf(list), [list.scrollLeft, list.scrollTop]]));
  const selected = new Set(all("[name=tickets]:checked").map((own) => own.value));
  for (const part of all("[data-live]")) {
    const other = newer.getElementById(part.id);
    if (!other || other.outerHTML === part.outerHTML || isOpen(part)) continue;
    const open = all("details", part).map((own) => own.open);
    const typed = all("textarea[id]", part).filter((own) => own.value !== own.defaultValue).map((own) => [own.id, own.value]);
    part.replaceWith(other);
    for (const [id, value] of typed) other.querySelector(`#${id}`).value = value;
    all("details", other).forEach((own, at) => (own.open = open[at] ?? own.open));
  }
  for (const list of all(".cards, .board")) {
    const place = places.get(placeOf(list));
    if (place) [list.scrollLeft, list.scrollTop] = place;
  }
  for (const own of all("[name=tickets]")) own.checked = selected.has(own.value);
  if (item && document.activeElement === document.body) {
    const again = document.getElementById(item);
    ((isTwist ? again?.querySelector(".twist") : again?.matches(ITEMS) && mainLink(again)) || again)?.focus({ preventScroll: true });
  }
  showForms(newer);
  decorate();
}

/** Ages grow, and due dates pass, also where nothing changes. */
const AGE_REFRESH_MS = 60_000;
const isShown = () => !document.hidden && root.dataset.version;
setInterval(() => isShown() && refresh(), AGE_REFRESH_MS);
document.addEventListener("visibilitychange", () => isShown() && refresh());

const placeOf = (list) => list.closest("section[id]")?.id + list.className;

/** Forms are replaced only where nothing is typed into them: else the page says that the task moved. */
function showForms(newer) {
  const forms = document.getElementById("do");
  const other = newer.getElementById("do");
  if (!forms || !other || forms.dataset.ticket === other.dataset.ticket) return;
  const isTyped = all("textarea, input:not([type=hidden])", forms).some((own) => own.value !== own.defaultValue);
  if (isTyped || forms.contains(document.activeElement)) toast("The task moved on. What you typed is kept; sending it changes nothing.", true);
  else forms.replaceWith(other);
}

function showAway(since) {
  document.querySelector(".away")?.remove();
  if (since) document.querySelector(".head")?.append(element("p", { class: "away", role: "status" }, `Not live since ${since}, trying again`));
}

function follow() {
  const channel = new BroadcastChannel("aof");
  const lastStates = new Map();
  channel.onmessage = (message) => (message.data === "who" ? lastStates.forEach((own) => channel.postMessage(own)) : onChange(message.data));
  const tell = (message) => {
    channel.postMessage(message);
    onChange(message);
  };
  let isAway = false;
  const lead = () =>
    new Promise(() => {
      const stream = new EventSource("/events");
      stream.addEventListener("change", (event) => {
        const change = JSON.parse(event.data);
        lastStates.set(change.project, change);
        tell(change);
      });
      stream.onopen = () => {
        if (isAway) tell({ away: "" });
        isAway = false;
      };
      // A server that refuses ends the stream for good; one that is away is asked again by the browser.
      stream.onerror = () => {
        if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 2000);
        if (!isAway) tell({ away: clockOf(new Date()) });
        isAway = true;
      };
    });
  channel.postMessage("who");
  if (navigator.locks) navigator.locks.request("aof-events", lead);
  else lead();
}

// --- What is told over the page -----------------------------------------------------------------------------------------------------

function toast(text, stays) {
  document.querySelector(".toast")?.remove();
  const box = element("div", { class: stays ? "notice toast stays" : "notice toast", role: "status" });
  document.body.append(box);
  // A reader is told what is added to a box that is there already.
  box.append(text);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function dialog(title, ...children) {
  document.querySelector("dialog")?.close();
  const box = element("dialog", { "aria-label": title }, element("h2", {}, title), ...children);
  const close = element("button", { type: "button", class: "button" }, "Close");
  close.onclick = () => box.close();
  box.append(element("p", {}, close));
  box.onclose = () => box.remove();
  document.body.append(box);
  box.showModal();
  return box;
}

function notify(count) {
  if (window.Notification?.permission === "granted" && document.hidden) {
    new Notification(`${count} ${count === 1 ? "task waits" : "tasks wait"} for you`, { tag: `aof-${project}`, icon: "/assets/icon.svg" });
  }
}

const clockOf = (time) => time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

function decorate() {
  for (const time of all("time.clock")) time.textContent = clockOf(new Date(time.dateTime));
  const ask = document.getElementById("ask");
  if (ask && window.Notification?.permission === "default") {
    ask.hidden = false;
    ask.onclick = () => Notification.requestPermission().then(() => (ask.hidden = true));
  }
  showSelected();
}

// --- Several tasks -----------------------------------------------------------------------------------------------------------------

function showSelected() {
  const bar = document.getElementById("bulk");
  if (!bar) return;
  const count = all("[name=tickets]:checked").length;
  bar.querySelector("b").textContent = `${count} selected`;
  const approve = bar.querySelector("button:only-of-type");
  if (approve) approve.textContent = `Approve ${count}`;
}

document.addEventListener("change", (event) => {
  if (event.target.id === "all") all("[name=tickets]").forEach((own) => (own.checked = event.target.checked));
  if (event.target.matches("[name=tickets], #all")) showSelected();
});

// --- Filter ------------------------------------------------------------------------------------------------------------------------

let typing = 0;
const onTyped = (event) => {
  clearTimeout(typing);
  // A text that is composed is not yet a word.
  if (event.target.id !== "q" || event.isComposing) return;
  typing = setTimeout(() => {
    const address = new URL(location.href);
    address.searchParams.set("q", event.target.value);
    swap(address.pathname + address.search);
  }, 150);
};
document.addEventListener("input", onTyped);
document.addEventListener("compositionend", onTyped);

/** A field that finds tasks and pages, whatever page is open. */
function find() {
  const input = element("input", { type: "search", "aria-label": "Search", placeholder: "Words, id or filter", autocomplete: "off" });
  const found = element("ul", { class: "menu-list" });
  const box = dialog("Search", input, found);
  const pages = all(".side ul:not(.foot) a");
  const showFound = (links) => found.replaceChildren(...links.map((link) => element("li", {}, element("a", { href: link.href, class: "button" }, link.textContent))));
  showFound(pages);
  let number = 0;
  input.oninput = async () => {
    const own = ++number;
    const words = input.value.trim().toLowerCase();
    const hits = words ? await load(`${page("list")}?q=${encodeURIComponent(words)}&group=none`) : null;
    if (own !== number) return;
    const tasks = words && hits ? all(".list .title a", hits).slice(0, 8) : [];
    showFound([...tasks, ...pages.filter((link) => !words || link.textContent.toLowerCase().includes(words))]);
  };
  input.onkeydown = (event) => event.key === "Enter" && found.querySelector("a")?.click();
  input.focus();
  return box;
}

// --- Acts on a task: by its menu, by keys, or by dragging its card ------------------------------------------------------------------

let dragged = null;

const FIELDS = "textarea, input:not([type=hidden]), select";

/** Returns the forms of a task, with the word and the place of each. */
async function formsOf(task) {
  const loaded = location.pathname === page(`tasks/${task}`) ? document : await load(page(`tasks/${task}`));
  const forms = all("#do form, form.write, .fields form", loaded ?? document.createElement("div"));
  return forms.map((form) => {
    const button = form.querySelector("button:not([type=button])");
    const label = form.dataset.label ?? form.closest("details")?.querySelector("summary").textContent.trim() ?? button.textContent.trim();
    return { form: form.cloneNode(true), label, act: form.elements.act.value, to: form.dataset.to ?? "" };
  });
}

/** Returns whether a form leads to a place of the board. A strip may be several gates. */
function leadsTo(form, place) {
  const names = place.dataset.place.split(" ").map((name) => (name === "(finished)" ? "done" : name));
  return form.to.split(" or ").some((to) => names.includes(to));
}

function ask(task, forms) {
  const title = document.querySelector(`[data-task="${task}"] :is(h3, h2, .title) a`)?.textContent ?? "";
  const box = dialog(`${task}: ${title}`);
  const last = box.lastElementChild;
  for (const { form, label, to } of forms) {
    form.action = page(`tasks/${task}`);
    form.classList.remove("write");
    form.querySelector("[name=back]")?.setAttribute("value", location.pathname + location.search);
    const head = label + (to && !label.includes("→") ? ` → ${to}` : "");
    const isButton = !form.querySelector(FIELDS);
    form.classList.add("fill");
    // Many forms are a menu: each opens by its name.
    if (isButton) last.before(form);
    else if (forms.length <= 2) last.before(element("h3", {}, head), form);
    else last.before(element("details", { class: "form", name: "ask" }, element("summary", { class: "button" }, head), form));
  }
  box.querySelector(forms.length <= 2 ? `${FIELDS}, form button` : "form button, summary")?.focus();
}

/** Opens the forms of a task that are wanted; one that needs nothing is sent at once. */
async function offer(item, wants) {
  const task = item.dataset.task;
  const forms = (await formsOf(task)).filter(wants);
  const [only] = forms;
  if (!only) return toast(`${task}: this is not yours to do now. Its page says why.`);
  const isOneClick = forms.length === 1 && !only.form.querySelector(FIELDS);
  if (!isOneClick) return ask(task, forms);
  only.form.action = page(`tasks/${task}`);
  only.form.hidden = true;
  document.body.append(only.form);
  only.form.requestSubmit();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-acts], .acts a[data-act], a.twist, a.find, [data-theme-next], [data-keys]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const item = link.closest("[data-task]");
  event.preventDefault();
  if (link.matches("[data-acts]")) offer(item, (one) => one.act !== "edit");
  else if (link.matches("[data-act]")) offer(item, (one) => one.form.elements.outcome?.value === link.dataset.outcome);
  else if (link.matches(".twist")) swap(link.getAttribute("href").split("#")[0]);
  else if (link.matches(".find")) find();
  else if (link.matches("[data-keys]")) showKeys();
  else {
    const names = Object.keys(THEMES);
    localStorage.setItem("aof-theme", names[(names.indexOf(theme()) + 1) % names.length]);
    showTheme();
  }
});

document.addEventListener("dragstart", async (event) => {
  const card = event.target.closest?.(".card[draggable]");
  if (!card) return;
  event.dataTransfer.setData("text/plain", card.dataset.task);
  event.dataTransfer.effectAllowed = "move";
  card.classList.add("dragging");
  const drag = (dragged = { card, forms: formsOf(card.dataset.task) });
  const forms = await drag.forms;
  if (dragged !== drag) return;
  if (!forms.some((one) => one.to)) toast(`${card.dataset.task}: this is not yours to do now. Its page says why.`);
  for (const place of all("[data-place]", card.closest(".board"))) {
    const own = forms.find((one) => leadsTo(one, place));
    if (own) place.append(element("p", { class: "drop" }, element("span", {}, `${own.label} → ${own.to}`)));
    else place.classList.add("dimmed");
  }
});

document.addEventListener("dragover", (event) => {
  const drop = event.target.closest?.(".drop");
  all(".drop.over").forEach((own) => own !== drop && own.classList.remove("over"));
  if (!drop || !dragged) return;
  drop.classList.add("over");
  event.preventDefault();
});

document.addEventListener("drop", async (event) => {
  const place = event.target.closest?.(".drop")?.parentElement;
  if (!place || !dragged) return;
  event.preventDefault();
  const { card, forms } = dragged;
  const wanted = (await forms).filter((one) => leadsTo(one, place));
  offer(card, (one) => wanted.some((own) => own.label === one.label && own.to === one.to));
});

document.addEventListener("dragend", () => {
  dragged?.card.classList.remove("dragging");
  dragged = null;
  all(".drop").forEach((own) => own.remove());
  all(".dimmed").forEach((own) => own.classList.remove("dimmed"));
  if (root.dataset.version !== wanted) refresh();
});

// --- Keys -------------------------------------------------------------------------------------------------------------------------

/** The table of keys of both boards, and the acts by key. */
const KEYS = JSON.parse(document.getElementById("board-keys")?.textContent ?? "[]");
const NAMES = { down: "ArrowDown", up: "ArrowUp", left: "ArrowLeft", right: "ArrowRight", esc: "Escape", enter: "Enter" };
const ACTS = new Map(KEYS.flatMap(({ keys, act }) => keys.map((key) => [NAMES[key] ?? key, act])));

function showKeys() {
  const off = element("button", { type: "button", class: "button" }, hasKeys() ? "Turn single keys off" : "Turn single keys on");
  off.onclick = () => {
    localStorage.setItem("aof-keys", hasKeys() ? "off" : "on");
    off.closest("dialog").close();
  };
  dialog("Keys", element("dl", {}, ...KEYS.map(({ keys, word }) => element("div", {}, element("dt", {}, ...keys.map((key) => element("kbd", {}, key))), element("dd", {}, word)))), element("p", {}, off));
}

let lastKey = "";

function step(down, right) {
  const columns = all(".cards, .rows, .list").filter((own) => own.querySelector(ITEMS));
  if (columns.length === 0) return;
  const item = document.activeElement?.closest?.(ITEMS);
  const at = Math.max(columns.findIndex((own) => own.contains(item)), 0);
  const column = columns[Math.min(Math.max(at + right, 0), columns.length - 1)];
  const items = all(ITEMS, column);
  const row = item ? all(ITEMS, columns[at]).indexOf(item) + down : 0;
  mainLink(items[Math.min(Math.max(row, 0), items.length - 1)]).focus();
}

const labelled = (...labels) => (one) => labels.some((label) => one.label.includes(label));
const doing = (act) => (one) => one.act === act;
const toggle = (item) => item?.querySelector("[name=tickets]")?.click();

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.target.closest?.("dialog")) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    find();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.matches("textarea")) event.target.form.requestSubmit();
  if (event.key === "Escape" && event.target.id === "q") event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || !hasKeys() || event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  const item = document.activeElement?.closest?.(ITEMS) ?? document.querySelector("article.task");
  const on = (wants) => () => item && offer(item, wants);
  const go = (name) => () => (location.href = page(name));
  const goTask = (name) => () => item && (location.href = page(`tasks/${item.dataset.task}${name}`));
  const key = lastKey === "g" ? `g ${event.key}` : event.key;
  lastKey = lastKey === "g" ? "" : event.key;
  const workflow = (step) => () => {
    const tabs = all(".tabs a");
    tabs.at((tabs.findIndex((tab) => tab.ariaCurrent) + step) % tabs.length)?.click();
  };
  const acts = {
    down: () => step(1, 0), up: () => step(-1, 0), left: () => step(0, -1), right: () => step(0, 1),
    approve: on(labelled("Approve")), sendBack: on(labelled("Send back")), done: on(labelled("Done")), block: on(labelled("Blocked")),
    unblock: on(doing("unblock")), take: on(doing("claim")), planFor: on((one) => one.form.elements.assignee), comment: on(doing("comment")),
    edit: goTask("/edit"), diff: goTask("/diff"), history: goTask("#history"), workflow: go("workflow"),
    new: () => document.querySelector("a.new")?.click(), undo: () => document.querySelector(".toast form")?.requestSubmit(),
    filter: () => (document.getElementById("filter")?.classList.add("shown"), document.getElementById("q")?.focus()),
    waiting: go("waiting"), board: go(""), list: go("list"), activity: go("activity"), statistics: go("statistics"),
    select: () => toggle(item), selectDown: () => (toggle(item), step(1, 0)), selectUp: () => (toggle(item), step(-1, 0)),
    nextWorkflow: workflow(1), previousWorkflow: workflow(-1),
    back: () => document.querySelector("article.task") && history.back(), help: showKeys,
  };
  if (key.startsWith("Arrow") && !document.activeElement?.closest?.(ITEMS)) return;
  const act = acts[ACTS.get(key)];
  if (!act) return;
  event.preventDefault();
  act();
});

/** The tab of the gate that is in sight, where one gate fills the screen. */
document.addEventListener(
  "scroll",
  (event) => {
    if (!event.target.matches?.(".board")) return;
    const middle = event.target.scrollLeft + event.target.clientWidth / 2;
    const shown = all(".column", event.target).find((own) => own.offsetLeft + own.offsetWidth > middle);
    for (const tab of all(".way a")) tab.ariaCurrent = tab.hash === `#${shown?.id}` ? "true" : null;
  },
  { capture: true, passive: true },
);

// --- Preview of a text ------------------------------------------------------------------------------------------------------------

document.addEventListener(
  "toggle",
  async (event) => {
    const preview = event.target.closest?.("details[data-preview]");
    if (!preview?.open) return;
    const form = preview.closest("form");
    const fields = new URLSearchParams({ form: form.elements.form.value, body: form.elements.body.value });
    const answer = await fetch(preview.dataset.preview, { method: "POST", body: fields });
    // The server has made it harmless.
    preview.querySelector(".text").innerHTML = await answer.text();
  },
  true,
);

// --- Passkeys: a key in the browser's keeping signs as SSH keys do (OpenSSH: PROTOCOL.sshsig, PROTOCOL.u2f) ------------------------

const KIND = "sk-ecdsa-sha2-nistp256@openssh.com";
const utf8 = (text) => new TextEncoder().encode(text);
const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const base64url = (bytes) => base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const unbase64 = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const number = (value) => new Uint8Array([value >>> 24, value >>> 16, value >>> 8, value]);

/** Returns parts as SSH writes them: each behind its length. */
const wire = (...parts) => joined(...parts.flatMap((part) => [number(part.length), part]));

function decoratePasskey() {
  const box = document.querySelector(".passkey");
  const button = box?.querySelector("button");
  if (!button || !window.PublicKeyCredential) return;
  button.disabled = false;
  button.onclick = async () => {
    const { host, agent } = box.dataset;
    try {
      const made = await navigator.credentials.create({
        publicKey: {
          rp: { id: host, name: "aof" },
          user: { id: crypto.getRandomValues(new Uint8Array(16)), name: agent, displayName: agent },
          challenge: crypto.getRandomValues(new Uint8Array(32)),
          pubKeyCredParams: [{ type: "public-key", alg: -7 }],
          authenticatorSelection: { residentKey: "required", userVerification: "required" },
        },
      });
      // The point is at the end of the key as browsers give it (RFC 5480).
      const point = new Uint8Array(made.response.getPublicKey()).slice(-65);
      const key = base64(wire(utf8(KIND), utf8("nistp256"), point, utf8(host)));
      const line = `${KIND} ${key} passkey:${base64url(made.rawId)}`;
      box.querySelector("pre").textContent = `passkeyOrigins: ["${location.origin}"]\nagents:\n  ${agent}: {signingKey: "${line}"}\n`;
      box.querySelector("[hidden]")?.removeAttribute("hidden");
      box.querySelector(".outcome").textContent = "The passkey is made. It counts once its line is committed.";
    } catch (fault) {
      box.querySelector(".outcome").textContent = `No passkey was made: ${fault.message}`;
    }
  };
}

/** Returns the numbers of a signature as browsers give them (DER), as SSH has them. */
function numbers(der) {
  const first = 4 + der[3];
  return wire(der.slice(4, first), der.slice(first + 2, first + 2 + der[first + 1]));
}

/** Returns the signature of a text by one of the keys. */
async function signature({ text, host, keys }) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", utf8(text)));
  const about = [utf8("aof"), utf8(""), utf8("sha512")];
  const got = await navigator.credentials.get({
    publicKey: {
      rpId: host,
      challenge: joined(utf8("SSHSIG"), wire(...about, digest)),
      allowCredentials: keys.map((own) => ({ type: "public-key", id: unbase64(own.credential) })),
      userVerification: "required",
    },
  });
  const { authenticatorData, clientDataJSON, signature } = got.response;
  const said = new Uint8Array(authenticatorData);
  const id = base64url(got.rawId);
  const key = unbase64(keys.find((own) => own.credential === id).key.split(" ")[1]);
  const inner = joined(
    wire(utf8(`webauthn-${KIND}`), numbers(new Uint8Array(signature))),
    // Whether the person was there and showed who they are, and how often the key has signed.
    said.slice(32, 37),
    wire(utf8(location.origin), new Uint8Array(clientDataJSON), utf8("")),
  );
  return base64(joined(utf8("SSHSIG"), number(1), wire(key, ...about, inner)));
}

/** Has a form signed, then sends it. */
async function sign(form) {
  const answer = await fetch(form.dataset.sign, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  const field = (name, value) => form.append(element("input", { type: "hidden", name, value }));
  if (answer.ok) {
    const wanted = await answer.json();
    if (wanted.keys.length > 0) {
      form.elements.ticket.value = wanted.ticket;
      field("signature", await signature(wanted));
    }
  }
  // A refusal comes again, as a page that says why.
  form.submit();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.sign || form.dataset.sent) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  form.dataset.sent = "1";
  sign(form).catch((fault) => {
    delete form.dataset.sent;
    toast(`Not signed: ${fault.message}`);
  });
});

// A second click on the same button sends nothing, and a slow answer is told.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
  const button = event.submitter;
  if (button?.dataset.act === "approve") setTimeout(() => (button.textContent = "Approving ..."), 300);
  // The next row has the focus after an act on a row.
  const row = form.closest(".rows > li");
  const next = row?.nextElementSibling ?? row?.previousElementSibling;
  if (next) sessionStorage.setItem("aof-next", next.id);
});
window.addEventListener("pageshow", () => all("form").forEach((form) => delete form.dataset.sent));

const next = document.getElementById(sessionStorage.getItem("aof-next"));
sessionStorage.removeItem("aof-next");
if (next) mainLink(next).focus();
// The workflow that is shown stays, also if another one has more for the reader later.
const tab = document.querySelector("#tabs [aria-current]");
if (tab && !location.search.includes("workflow=")) history.replaceState(null, "", tab.href);
if (project && root.dataset.version && location.protocol !== "file:") follow();
decorate();
decoratePasskey();
