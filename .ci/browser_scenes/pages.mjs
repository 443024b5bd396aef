// Each page as it looks: for readers of all kinds, on small screens, without scripts, and with texts of somebody who means harm.

import fs from "node:fs";
import path from "node:path";
import axe from "axe-core";
import { AOF, check, equal, within } from "./tools.mjs";

/** The pages of a project, for the task TASK. */
const PAGES = [
  "",
  "waiting",
  "tasks/TASK",
  "tasks/TASK/edit",
  "tasks/TASK/diff",
  "tasks/TASK/log",
  "new",
  "activity",
  "statistics",
  "status",
  "verify",
  "list",
  "workflow",
  "workflows/default",
  "passkey",
];
const pagesOf = (task) => PAGES.map((name) => name.replace("TASK", task));

const MOST_BYTES = 150_000;

/** The commands of a shop at work. */
const SHOP = `
pass() { for agent in $2; do aof complete "$1" --agent "$agent" -o complete -s Done >/dev/null; done; }
new() { id=$(aof new "$@" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'); }
code="agent-dev-1 agent-review-1"
pass first "$code agent-test-1"
new "Refunds by bank transfer" --priority high --tag payments; pass $id "$code agent-test-1"
new "Gift cards" --milestone spring; pass $id "$code"
new "Search finds plurals" --tag search; pass $id agent-dev-2
aof reject $id -m "Irregular ones are missed" --agent agent-review-1 >/dev/null; pass $id agent-dev-2
new "Prices with tax" --due 2026-02-16 --tag payments; pass $id agent-dev-1
new "Export orders as CSV" --tag api; aof claim $id --agent agent-dev-1 >/dev/null
new "Sign in with a passkey" --priority high; aof claim $id --agent agent-dev-2 >/dev/null
new "Dark colours" --tag web; aof block $id -m "The designer is away" --agent agent-dev-1 >/dev/null
new "Remember the cart" --tag web
`;

/** Has a shop at work, and returns a task that waits for Ann. */
async function fill(shop) {
  shop.environment.PATH = `${path.dirname(AOF)}:${shop.environment.PATH}`;
  await shop.run("bash", "-ec", SHOP);
  return "AOF-first";
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
  // The contrast that AAA asks for is not a goal: the tokens have that of AA.
  const rules = colorScheme === "dark" ? { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } } : {};
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
  const waiting = await fill(shop);
  const rejected = (await shop.json("list")).tasks.find((own) => own.title === "Search finds plurals").id;
  for (let number = 1; number <= 30; number++) await shop.new(`One of many parts of a thing with a long name: ${number}`);
  fs.writeFileSync(shop.file("shop.txt"), "A line that git does not know\n");
  await shop.git("add", "-A");
  await shop.git("commit", "-qm", "shop: say what is sold");
  const server = await stage.serve(shop, "human-ann-example");
  const sizes = [0];
  const look = async (page, name, colorScheme, width) => {
    const place = `\`${name}\` (${colorScheme}, ${width} px)`;
    equal(await violations(page, colorScheme), [], `what axe-core finds at ${place} is wrong`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wide <= 0, `the page ${place} is ${wide} px wider than the window`);
  };
  const lookAtAll = async (colorScheme, width) => {
    const page = await stage.visit(server, { colorScheme, viewport: { width, height: 800 } });
    watch(page.context(), server, stage.faults);
    for (const name of [...pagesOf(waiting), `tasks/${rejected}`]) {
      const answer = await server.open(page, name);
      sizes.push((await answer.body()).length);
      check(sizes.at(-1) < MOST_BYTES, `the page \`${name}\` has ${sizes.at(-1)} bytes`);
      await look(page, name, colorScheme, width);
    }
    await server.open(page);
    await page.keyboard.press("?");
    await within(page.waitForSelector("dialog[open]"), "`?` does not show the keys");
    await look(page, "the keys", colorScheme, width);
    await page.keyboard.press("Escape");
    await page.locator(`#card-${waiting} h3 a`).focus();
    await page.keyboard.press("m");
    await within(page.waitForSelector("dialog form"), "`m` brings no form");
    await look(page, "the form of a card", colorScheme, width);
  };
  for (const width of [1280, 390]) await Promise.all(["light", "dark"].map((colorScheme) => lookAtAll(colorScheme, width)));
  return `${PAGES.length} pages, at most ${(Math.max(...sizes) / 1000).toFixed(0)} kB`;
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
    alive: [...document.querySelectorAll("#main *, dialog *")]
      .filter((own) => {
        const isAlive = /^(script|img|iframe|object|embed|base|style|link)$/i.test(own.localName);
        // The server draws with SVG too, but never within a task's text.
        const isDrawn = own.localName === "svg" && own.closest(".text");
        const acts = [...own.attributes].some(({ name, value }) => /^on/i.test(name) || /^\s*(javascript|data|vbscript):/i.test(value));
        return isAlive || isDrawn || acts;
      })
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
  await shop.aof("comment", task, "-m", HARM, "--agent", "agent-dev-1");
  await shop.aof("block", task, "-m", HARM, "--agent", "agent-dev-1");
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
  await within(page.waitForSelector(".preview .text h1"), "the preview does not come");
  await harmless(page, "the preview");

  await server.open(page);
  await page.goto(`${server.board}?q=${encodeURIComponent(HARM)}&whole=${encodeURIComponent(HARM)}`);
  await harmless(page, "the filter");
  await server.open(page);
  await shop.aof("unblock", task, "--reason", HARM, "--agent", "human-ann-example");
  await within(page.waitForFunction((task) => !document.querySelector(`#card-${task} .stop`), task), "the board does not follow");
  await page.locator(`#card-${task} h3 a`).focus();
  await page.keyboard.press("m");
  await within(page.waitForSelector("dialog form"), "`m` brings no form for a hostile task");
  await harmless(page, "the form of a card");
}

async function scriptless(stage) {
  const shop = await stage.shop();
  const server = await stage.serve(shop, "agent-dev-1");
  const page = await stage.visit(server, { javaScriptEnabled: false });
  await page.click("#card-AOF-first h3 a");
  await page.click("details.form summary:has-text('Done')");
  await page.fill('details[open] [name="summary"]', "Without a script");
  await page.click("details[open] button.primary");
  await within(page.waitForSelector(".notice[role=status]"), "a form does nothing without scripts");
  const { gate, gateHistory } = await shop.show("first");
  equal([gate.current, gateHistory[0].summary], ["code-review", "Without a script"], "the completion without scripts is wrong");
  await shop.sound();
}

export const SCENES = { accessible, hostile, scriptless };
