// Each page as it looks: for readers of all kinds, on small screens, without scripts, and with texts of somebody who means harm.

import fs from "node:fs";
import path from "node:path";
import axe from "axe-core";
import { ROOT, check, equal, within } from "./tools.mjs";

/** The pages of a project, for the task TASK. */
const PAGES = [
  "",
  "waiting",
  "tasks/TASK",
  "tasks/TASK/edit",
  "tasks/TASK/diff",
  "new",
  "activity",
  "statistics",
  "status",
  "verify",
  "workflows/default",
  "passkey",
];
const pagesOf = (task) => PAGES.map((name) => name.replace("TASK", task));

const MOST_BYTES = 150_000;

/** Fills a shop with the work that the picture of the terminal's board shows. Returns the tasks by what they are. */
async function fill(shop) {
  const pass = async (task, ...agents) => {
    for (const agent of agents) await shop.say(task, agent, "complete");
    return task;
  };
  const code = ["agent-dev-1", "agent-review-1"];
  const waiting = await pass("first", ...code, "agent-test-1");
  await pass(await shop.new("Refunds by bank transfer", "--priority", "high", "--tag", "payments"), ...code, "agent-test-1");
  await pass(await shop.new("Gift cards", "--milestone", "spring"), ...code);
  const rejected = await pass(await shop.new("Search finds plurals", "--tag", "search"), "agent-dev-2");
  await shop.aof("reject", rejected, "Irregular ones are missed", "--agent", "agent-review-1");
  await pass(rejected, "agent-dev-2");
  await pass(await shop.new("Prices with tax", "--due", "2026-02-16", "--tag", "payments"), "agent-dev-1");
  await shop.aof("claim", await shop.new("Export orders as CSV", "--tag", "api"), "--agent", "agent-dev-1");
  await shop.aof("claim", await shop.new("Sign in with a passkey", "--priority", "high"), "--agent", "agent-dev-2");
  await shop.aof("block", await shop.new("Dark colours", "--tag", "web"), "The designer is away", "--agent", "agent-dev-1");
  await shop.new("Remember the cart", "--tag", "web");
  return { waiting: "AOF-first", rejected };
}

/** Keeps what a browser complains of, and what it asks other hosts for. */
function watch(context, server, faults) {
  context.on("console", (message) => message.type() === "error" && faults.push(`the console of ${message.location().url} has: ${message.text()}`));
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== server.url) faults.push(`a page asks another host: ${request.url()}`);
  });
}

/** Returns what axe-core finds at a page as it is now. Themes differ in colours alone, so all rules are asked once. */
async function violations(page, colorScheme) {
  const rules = colorScheme === "dark" ? { runOnly: ["cat.color"] } : {};
  // Several forms would else close each other.
  await page.evaluate(() =>
    document.querySelectorAll("details").forEach((own) => {
      own.removeAttribute("name");
      own.open = true;
    }),
  );
  await page.evaluate(axe.source);
  const found = await page.evaluate(async (rules) => (await window.axe.run(document, { ...rules, resultTypes: ["violations"] })).violations, rules);
  return found.flatMap(({ id, nodes }) => nodes.map((own) => `${id}: ${own.html.slice(0, 160)} (${own.any[0]?.message ?? own.none[0]?.message ?? ""})`));
}

async function accessible(stage) {
  const shop = await stage.shop();
  const { waiting, rejected } = await fill(shop);
  for (let number = 1; number <= 30; number++) await shop.new(`One of many parts of a thing with a long name: ${number}`);
  fs.writeFileSync(shop.file("shop.txt"), "A line that git does not know\n");
  await shop.git("add", "-A");
  await shop.git("commit", "-qm", "shop: say what is sold");
  const server = await stage.serve(shop, "human-ann-example");
  let largest = 0;
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const page = await stage.visit(server, { colorScheme, viewport: { width, height: 800 } });
      watch(page.context(), server, stage.faults);
      const look = async (name) => {
        const place = `\`${name}\` (${colorScheme}, ${width} px)`;
        equal(await violations(page, colorScheme), [], `what axe-core finds at ${place} is wrong`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        check(wide <= 0, `the page ${place} is ${wide} px wider than the window`);
      };
      for (const name of new Set([...pagesOf(waiting), `tasks/${rejected}`])) {
        const answer = await server.open(page, name);
        const size = (await answer.body()).length;
        largest = Math.max(largest, size);
        check(size < MOST_BYTES, `the page \`${name}\` has ${size} bytes`);
        await look(name);
      }
      await server.open(page);
      await page.keyboard.press("?");
      await within(page.waitForSelector("dialog[open]"), "`?` does not show the keys");
      await look("the keys");
      await page.keyboard.press("Escape");
      await page.locator(`#card-${waiting} a.title`).focus();
      await page.keyboard.press("m");
      await within(page.waitForSelector("dialog form"), "`m` brings no form");
      await look("the form of a card");
    }
  }
  return `${PAGES.length} pages, at most ${(largest / 1000).toFixed(0)} kB`;
}

const HIT = "window.hit=1";
const HARM = `"><img src=x onerror="${HIT}"><script>${HIT}</script>'`;
const HARMFUL_BODY = `# ${HARM}

[a link](javascript:${HIT}) <javascript:${HIT}> [data](data:text/html,<script>${HIT}</script>) ![](x"onerror="${HIT})

<svg onload="${HIT}"><a href="javascript:${HIT}">x</a></svg> <iframe srcdoc="<script>${HIT}</script>"></iframe>

\`\`\`"><script>${HIT}</script>
${HARM}
\`\`\`

</textarea><script>${HIT}</script>
`;

/** Fails where a page has let in what a text brought. */
async function harmless(page, name) {
  const found = await page.evaluate(() => ({
    hit: window.hit,
    alive: [...document.querySelectorAll("#content *, dialog *")]
      .filter((own) => /^(script|img|svg|iframe|object|embed|base|style|link)$/i.test(own.localName) || [...own.attributes].some(({ name, value }) => /^on/i.test(name) || /^\s*(javascript|data|vbscript):/i.test(value)))
      .filter((own) => !own.closest("svg[role=img], figure"))
      .map((own) => own.outerHTML.slice(0, 120)),
  }));
  equal(found, { alive: [] }, `what a hostile text becomes at \`${name}\` is wrong`);
}

async function hostile(stage) {
  const shop = await stage.shop();
  const task = await shop.new(HARM, "--description", HARM);
  const file = shop.file((await shop.show(task)).path);
  const text = fs.readFileSync(file, "utf8").replace(/\n---\n/, `\ntags: [${JSON.stringify(HARM)}]\n---\n`);
  fs.writeFileSync(file, text + HARMFUL_BODY);
  await shop.git("commit", "-qam", "tasks: say what it is about");
  await shop.aof("complete", task, "--agent", "agent-dev-1", "-o", "complete", "-s", HARM);
  await shop.aof("complete", task, "--agent", "agent-review-1", "-o", "needs_review", "-s", HARM, "--blocker", HARM);
  await shop.aof("comment", task, HARM, "--agent", "agent-dev-1");
  await shop.aof("block", task, HARM, "--agent", "agent-dev-1");
  const shown = await shop.show(task);
  check([shown.title, shown.body, JSON.stringify(shown.gateHistory)].every((own) => own.includes("onerror=")), "the task is not hostile");
  const server = await stage.serve(shop, "agent-dev-1");
  const page = await stage.visit(server);
  watch(page.context(), server, stage.faults);
  for (const name of pagesOf(task)) {
    await server.open(page, name);
    await harmless(page, name);
  }
  await server.open(page, "new");
  await page.fill('[name="body"]', HARMFUL_BODY);
  await page.click("summary:has-text('Preview')");
  await within(page.waitForSelector(".preview .body h1"), "the preview does not come");
  await harmless(page, "the preview");

  await server.open(page);
  await page.goto(`${server.board}?q=${encodeURIComponent(HARM)}&whole=${encodeURIComponent(HARM)}`);
  await harmless(page, "the filter");
  await server.open(page);
  await shop.aof("unblock", task, "--reason", HARM);
  await within(page.waitForFunction((task) => !document.querySelector(`#card-${task} .bad`), task), "the board does not follow");
  await page.locator(`#card-${task} a.title`).focus();
  await page.keyboard.press("m");
  await within(page.waitForSelector("dialog form"), "`m` brings no form for a hostile task");
  await harmless(page, "the form of a card");
}

async function scriptless(stage) {
  const shop = await stage.shop();
  const server = await stage.serve(shop, "agent-dev-1");
  const page = await stage.visit(server, { javaScriptEnabled: false });
  await page.click("#card-AOF-first a.title");
  await page.click("details.form summary:has-text('complete')");
  await page.fill('details[open] [name="summary"]', "Without a script");
  await page.click("details[open] button.primary");
  await within(page.waitForSelector(".notice[role=status]"), "a form does nothing without scripts");
  const { gate, gateHistory } = await shop.show("first");
  equal([gate.current, gateHistory[0].summary], ["code-review", "Without a script"], "the completion without scripts is wrong");
  await shop.sound();
}

/** Draws the board of a shop at work. */
export async function pictures(stage) {
  const shop = await stage.shop();
  await fill(shop);
  const server = await stage.serve(shop, "human-ann-example");
  for (const colorScheme of ["light", "dark"]) {
    const page = await stage.visit(server, { colorScheme, viewport: { width: 1280, height: 720 } });
    const file = path.join(ROOT, `docs/pictures/web-${colorScheme}.png`);
    await page.screenshot({ path: file });
    check(fs.statSync(file).size < MOST_BYTES, `the picture ${file} is too large`);
  }
}

export const SCENES = { accessible, hostile, scriptless };
