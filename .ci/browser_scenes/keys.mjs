// The keys of the board: each one that acts makes the commit that its command makes, by the table that both boards have.

import fs from "node:fs";
import { check, equal, eventually, within } from "./tools.mjs";

const DONE = ["complete", "ID", "--agent", "agent-7", "-o", "complete", "-s", "Did it"];
const WAITS = ["block", "ID", "-m", "no key", "--agent", "human-ada"];

/** By the words of the table: what brings a task there, what is typed into which field, and the command that does the same. */
const ACTS = {
  approve: { before: [DONE], fields: { summary: "" }, command: ["approve", "ID"] },
  "send back": { before: [DONE], fields: { blockers: "no test" }, command: ["reject", "ID", "-m", "no test"] },
  done: { fields: { summary: "Did it" }, command: ["done", "ID", "-s", "Did it"] },
  blocked: { fields: { blockers: "no key" }, command: ["block", "ID", "-m", "no key"] },
  unblock: { before: [WAITS], fields: { reason: "It came" }, command: ["unblock", "ID", "-m", "It came"] },
  take: { command: ["claim", "ID"] },
  "plan for": { fields: { assignee: "agent-7" }, command: ["assign", "ID", "agent-7"] },
  comment: { fields: { reason: "A word" }, command: ["comment", "ID", "-m", "A word"] },
  edit: { fields: { title: "Edited" }, command: ["edit", "ID", "--title", "Edited"] },
  new: { fields: { title: "Created" }, command: ["new", "Created"] },
};

/** Keys that lead to a page, by the words of the table. */
const PAGES = { diff: /tasks\/ID\/diff$/, history: /tasks\/ID#history$/, workflow: /\/workflow$/, waiting: /\/waiting$/, board: /\/shop\/$/, list: /\/list$/, activity: /\/activity$/, statistics: /\/statistics$/ };

async function shopOfAda(stage) {
  const shop = await stage.shop();
  fs.writeFileSync(shop.file("project.yaml"), "workflow: {gates: [{id: implement, role: dev}, {id: review, role: lead, canReject: true}]}\n");
  fs.writeFileSync(shop.file("org.yaml"), "roles: {dev: {agents: [human-ada, agent-7]}, lead: {agents: [human-ada]}}\nagents: {agent-7: {}, human-ada: {email: ann@example.com, maxTasks: 50}}\n");
  await shop.git("commit", "-qam", "rules: have two gates");
  return shop;
}

/** Returns the last commit without what differs each time: its message, its author, and the files that it changes. */
async function made(shop, task) {
  const text = await shop.git("log", "-1", "--name-status", "--no-renames", "--format=%an <%ae>%n%B");
  const id = /AOF-[a-z0-9]+/.exec(text)?.[0] ?? task;
  return text.replaceAll(id, "ID").replace(/^Aof-Named: .*\n/m, "").replace(/^Aof-Completion: .*\n/m, "");
}

const press = async (page, key) => {
  for (const one of key.split(" ")) await page.keyboard.press({ esc: "Escape", enter: "Enter" }[one] ?? one);
};

async function fill(page, fields) {
  const form = page.locator(":is(dialog[open], #main) form").filter({ has: page.locator(`[name=${Object.keys(fields)[0]}]`) }).first();
  await within(form.waitFor(), `no form has the field ${Object.keys(fields)[0]}`);
  for (const [name, text] of Object.entries(fields)) await form.locator(`[name=${name}]`).fill(text);
  await form.locator("button:not([type=button])").first().click();
}

export async function everyKey(stage) {
  const shop = await shopOfAda(stage);
  const server = await stage.serve(shop, "human-ada");
  const page = await stage.visit(server);
  const table = JSON.parse(await page.locator("#board-keys").textContent());
  const keyOf = (word) => table.find((row) => row.word === word)?.keys.at(-1);
  const task = async (before = []) => {
    const id = await shop.new("Add login");
    for (const words of before) await shop.aof(...words.map((word) => (word === "ID" ? id : word)));
    return id;
  };
  for (const [word, { before, fields, command }] of Object.entries(ACTS)) {
    check(keyOf(word), `the table has no key for \`${word}\``);
    const one = await task(before);
    await shop.aof(...command.map((own) => (own === "ID" ? one : own)), "--agent", "human-ada");
    const wanted = await made(shop, one);
    const other = await task(before);
    const count = await shop.commits();
    await server.open(page);
    await within(page.waitForSelector(`#card-${other}`), `the board does not show the task for \`${word}\``);
    await page.focus(`#card-${other} h3 a`);
    await press(page, keyOf(word));
    if (fields) await fill(page, fields);
    await eventually(async () => (await shop.commits()) > count, `\`${keyOf(word)}\` (${word}) makes no commit`);
    equal(await made(shop, other), wanted, `the commit of \`${keyOf(word)}\` (${word}) is wrong`);
    await within(page.waitForSelector(".toast"), `the page does not tell what \`${word}\` did`);
    if (!["approve", "take"].includes(word)) continue;
    await Promise.all([page.waitForNavigation(), press(page, keyOf("undo my last act"))]);
    await eventually(async () => (await shop.commits()) > count + 1, `\`z\` does not take back \`${word}\``);
  }
  const last = await task();
  for (const [word, address] of Object.entries(PAGES)) {
    await server.open(page);
    await within(page.waitForSelector(`#card-${last}`), "the board does not show a new task");
    await page.focus(`#card-${last} h3 a`);
    await press(page, keyOf(word));
    const pattern = new RegExp(address.source.replace("ID", last));
    await within(page.waitForURL(pattern), `\`${keyOf(word)}\` (${word}) does not lead to its page`);
  }
  await shop.sound();
  return `${Object.keys(ACTS).length} keys make the commits of their commands, ${Object.keys(PAGES).length} lead to pages`;
}
