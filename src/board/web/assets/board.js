// What pages do beyond HTML: they follow changes, are driven by keys, and cards can be dragged. Without it, all still works by forms.
"use strict";

const root = document.documentElement;
const project = root.dataset.project;

// --- Live updates -----------------------------------------------------------------------------------------------------------------
// HTTP/1.1 allows six connections to a server, so one tab of the browser holds the stream, and tells the others.

let wanted = root.dataset.version;
let isLoading = false;
/** The pause before a page that did not come is asked for again. */
const RETRY_MS = 1000;

/** Takes in that a project has another state. */
function onChange(change) {
  if (change.project !== project) return;
  const count = document.querySelector("[data-waiting]");
  if (count && count.textContent !== String(change.waiting)) {
    if (change.waiting > Number(count.textContent)) notify(change.waiting);
    count.textContent = change.waiting;
  }
  if (change.version !== wanted) {
    wanted = change.version;
    refresh();
  }
}

/** Loads this page again, and puts in what differs. */
async function refresh() {
  if (isLoading) return;
  isLoading = true;
  try {
    for (let loaded = null; loaded !== wanted; ) {
      loaded = wanted;
      const answer = await fetch(location.href, { headers: { "x-live": "1" } });
      if (!answer.ok) break;
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    }
  } catch {
    // The server or the network is away. The stream need not have noticed, so it may tell nothing when they are back.
    setTimeout(refresh, RETRY_MS);
  } finally {
    isLoading = false;
  }
}

/** Puts in the parts of a newer page that differ. Whole parts are replaced, so nothing that stays is seen to move. */
function show(newer) {
  root.dataset.version = newer.documentElement.dataset.version;
  if (dragged) return;
  const focused = document.activeElement?.closest("[id]")?.id;
  const places = new Map();
  for (const list of document.querySelectorAll(".column .cards, .columns")) {
    places.set(placeOf(list), [list.scrollLeft, list.scrollTop]);
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = newer.getElementById(part.id);
    if (!other || other.outerHTML === part.outerHTML) continue;
    const open = [...part.querySelectorAll("details")].map((own) => own.open);
    part.replaceWith(other);
    other.querySelectorAll("details").forEach((own, at) => (own.open = open[at] ?? own.open));
  }
  for (const list of document.querySelectorAll(".column .cards, .columns")) {
    const place = places.get(placeOf(list));
    if (place) [list.scrollLeft, list.scrollTop] = place;
  }
  if (focused && document.activeElement === document.body) {
    const again = document.getElementById(focused);
    (again?.querySelector("a.title") ?? again)?.focus({ preventScroll: true });
  }
  showForms(newer);
  decorate();
}

/** Ages grow, and due dates pass, also where nothing changes. */
const AGE_REFRESH_MS = 60_000;
const isShown = () => !document.hidden && root.dataset.version;
setInterval(() => isShown() && refresh(), AGE_REFRESH_MS);
document.addEventListener("visibilitychange", () => isShown() && refresh());

function placeOf(list) {
  return list.closest("section")?.getAttribute("aria-labelledby") + list.className;
}

/** Forms are replaced only where nothing is typed into them: else the page says that the task moved. */
function showForms(newer) {
  const forms = document.getElementById("do");
  const other = newer.getElementById("do");
  if (!forms || !other || forms.dataset.ticket === other.dataset.ticket) return;
  const isTyped = [...forms.querySelectorAll("textarea, input:not([type=hidden])")].some((own) => own.value !== own.defaultValue);
  if (isTyped || forms.contains(document.activeElement)) toast("The task moved on. What you typed is kept; sending it changes nothing.", true);
  else forms.replaceWith(other);
}

function follow() {
  const channel = new BroadcastChannel("aof");
  channel.onmessage = (message) => (message.data === "who" ? lastStates.forEach((own) => channel.postMessage(own)) : onChange(message.data));
  const lastStates = new Map();
  const lead = () =>
    new Promise(() => {
      const stream = new EventSource("/events");
      stream.addEventListener("change", (event) => {
        const change = JSON.parse(event.data);
        lastStates.set(change.project, change);
        channel.postMessage(change);
        onChange(change);
      });
      // A server that refuses ends the stream for good; one that is away is asked again by the browser.
      stream.onerror = () => {
        if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 2000);
      };
    });
  channel.postMessage("who");
  if (navigator.locks) navigator.locks.request("aof-events", lead);
  else lead();
}

// --- What is told over the page -----------------------------------------------------------------------------------------------------

function toast(text, stays) {
  document.querySelector(".toast")?.remove();
  const box = element("div", { class: "toast", role: "status" });
  box.append(text);
  document.body.append(box);
  if (!stays) setTimeout(() => box.remove(), 6000);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function dialog(title, ...children) {
  const box = element("dialog", { "aria-label": title }, element("h2", {}, title), ...children);
  const close = element("button", { type: "button" }, "Close");
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

document.addEventListener("mouseover", (event) => {
  const time = event.target.closest?.("time");
  if (time) time.title = new Date(time.dateTime).toLocaleString();
});

function decorate() {
  const waiting = document.getElementById("waiting");
  if (waiting && window.Notification?.permission === "default" && !document.getElementById("ask")) {
    const ask = element("button", { type: "button", id: "ask" }, "Notify me");
    ask.onclick = () => Notification.requestPermission().then(() => ask.remove());
    waiting.before(element("p", {}, ask));
  }
}

// --- Moving a card: by dragging, or with `m` --------------------------------------------------------------------------------------

let dragged = null;

/** Returns the forms that move a task, by the place that each leads to. */
async function moves(task) {
  const answer = await fetch(`/${project}/tasks/${task}`);
  if (!answer.ok) return [];
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return [...page.querySelectorAll("form[data-outcome]")].map((form) => ({ form, to: form.dataset.to ?? "", head: form.parentElement.querySelector("summary").textContent }));
}

/** Returns the place of a board as a form names it. */
function leadsTo(move, column) {
  const place = column.dataset.place;
  if (place === "(finished)") return move.to === "$end" || move.to === "end" || move.to === "complete";
  return move.to === place;
}

function ask(task, options) {
  const title = document.querySelector(`[data-task="${task}"] .title`)?.textContent ?? "";
  const box = dialog(`Move ${task}: ${title}`);
  const last = box.lastElementChild;
  for (const { form, head } of options) {
    form.action = `/${project}/tasks/${task}`;
    form.append(element("input", { type: "hidden", name: "back", value: location.pathname + location.search }));
    last.before(element("h3", {}, head), form);
  }
  box.querySelector("textarea, input:not([type=hidden]), select")?.focus();
}

async function offer(card) {
  const task = card.dataset.task;
  const options = await moves(task);
  if (options.length === 0) toastNoSay(task);
  else ask(task, options);
}

function toastNoSay(task) {
  toast(`${task}: you have no say here. Its page says why.`);
}

document.addEventListener("dragstart", async (event) => {
  const card = event.target.closest?.(".card[draggable]");
  if (!card) return;
  event.dataTransfer.setData("text/plain", card.dataset.task);
  event.dataTransfer.effectAllowed = "move";
  card.classList.add("dragging");
  const drag = (dragged = { card, options: moves(card.dataset.task) });
  const options = await drag.options;
  if (dragged !== drag) return;
  if (options.length === 0) toastNoSay(card.dataset.task);
  for (const column of card.closest(".columns").querySelectorAll(".column")) {
    const isOffered = options.some((move) => leadsTo(move, column));
    column.classList.add(isOffered ? "offered" : "dimmed");
  }
});

document.addEventListener("dragover", (event) => {
  const column = event.target.closest?.(".column.offered");
  document.querySelectorAll(".over").forEach((own) => own !== column && own.classList.remove("over"));
  if (!column || !dragged) return;
  column.classList.add("over");
  event.preventDefault();
});

document.addEventListener("drop", async (event) => {
  const column = event.target.closest?.(".column.offered");
  if (!column || !dragged) return;
  event.preventDefault();
  const { card, options } = dragged;
  ask(card.dataset.task, (await options).filter((move) => leadsTo(move, column)));
});

document.addEventListener("dragend", () => {
  dragged?.card.classList.remove("dragging");
  dragged = null;
  for (const name of ["offered", "dimmed", "over"]) document.querySelectorAll(`.${name}`).forEach((own) => own.classList.remove(name));
  if (root.dataset.version !== wanted) refresh();
});

// --- Keys -------------------------------------------------------------------------------------------------------------------------

const KEYS = [
  ["j k", "next and previous card"],
  ["h l", "column to the left and to the right"],
  ["Enter", "open the card"],
  ["m", "move the card: say how it went"],
  ["/", "filter"],
  ["n", "new task"],
  ["g b", "board"],
  ["g w", "waiting for you"],
  ["?", "these keys"],
];

let lastKey = "";

function step(down, right) {
  const columns = [...document.querySelectorAll(".column, .cards.wide")].filter((own) => own.querySelector(".card"));
  if (columns.length === 0) return;
  const card = document.activeElement?.closest?.(".card");
  if (!card) return columns[0].querySelector(".card a.title").focus();
  const at = columns.findIndex((own) => own.contains(card));
  const row = [...columns[at].querySelectorAll(".card")].indexOf(card);
  const column = columns[Math.min(Math.max(at + right, 0), columns.length - 1)];
  const cards = column.querySelectorAll(".card");
  cards[Math.min(Math.max(row + down, 0), cards.length - 1)].querySelector("a.title").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const card = document.activeElement?.closest?.(".card");
  const key = lastKey === "g" ? `g${event.key}` : event.key;
  lastKey = event.key;
  const acts = {
    j: () => step(1, 0),
    k: () => step(-1, 0),
    h: () => step(0, -1),
    l: () => step(0, 1),
    m: () => card && offer(card),
    "/": () => document.getElementById("q")?.focus(),
    n: () => document.querySelector("a.new")?.click(),
    gb: () => (location.href = `/${project}/`),
    gw: () => (location.href = `/${project}/waiting`),
    "?": () => dialog("Keys", element("dl", {}, ...KEYS.flatMap(([keys, text]) => [element("dt", {}, element("kbd", {}, keys)), element("dd", {}, text)]))),
  };
  const act = acts[key];
  if (!act) return;
  event.preventDefault();
  act();
});

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
    preview.querySelector(".body").innerHTML = await answer.text();
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

// A second click on the same button sends nothing.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
});
window.addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));

if (project && root.dataset.version && location.protocol !== "file:") follow();
decorate();
decoratePasskey();
