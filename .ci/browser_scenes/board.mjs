// The board as a person uses it: by links, mouse and keys, alone and beside somebody else.

import fs from "node:fs";
import { check, dropCard, equal, eventually, liftCard, within } from "./tools.mjs";

export async function login(stage) {
  const shop = await stage.shop();
  for (let number = 1; number <= 27; number++) await shop.new(`Part ${number}`, ...(number === 7 ? ["--tag", "payments"] : []));
  const server = await stage.serve(shop, "agent-dev-1");
  const link = await server.link();
  const page = await stage.visit(server);
  const [first, second] = [await stage.browser.newContext(), await stage.browser.newContext()];
  const answer = await (await first.newPage()).goto(link);
  equal(answer.status(), 200, "the status of the page behind the link is wrong");
  const again = await second.newPage();
  check(!(await again.goto(link)).ok(), "a link logs in a second browser");
  equal((await again.goto(server.board)).status(), 401, "the status of the board for a stranger is wrong");

  check((await page.locator("[data-place=implement]").count()) === 1, "the board has no column `implement`");
  const strips = await page.locator(".strip").allInnerTexts();
  equal(strips.map((text) => text.trim()), ["5 empty", "done 0"], "the strips of the gates without cards are wrong");
  const cards = page.locator('[data-place="implement"] .card');
  equal(await cards.count(), 25, "the number of cards that a column shows at first is wrong");
  await page.click('[data-place="implement"] .others a');
  equal(await cards.count(), 28, "the number of cards behind `more` is wrong");

  await page.fill("#q", "tag:payments");
  await page.press("#q", "Enter");
  await within(page.waitForURL(/q=/), "the filter is not sent by Enter");
  equal(await page.locator(".card h3 a").allTextContents(), ["Part 7"], "the cards of a tag are wrong");
  await page.fill("#q", "is:nonsense");
  await page.press("#q", "Enter");
  await within(page.waitForSelector("#fault"), "a filter that says nothing is not told");
}

/** Returns a shop with a task at each of the first two gates; the second is the reviewer's. */
async function reviewed(stage) {
  const shop = await stage.shop();
  await shop.new("Gift cards");
  await shop.say("first", "agent-dev-1", "complete");
  const page = await stage.visit(await stage.serve(shop, "agent-review-1"));
  return { shop, page, before: await shop.commits() };
}

const BLOCKERS = ["The name may be empty", "No test of umlauts"];

async function wasRejected(shop, page, before) {
  await within(page.waitForSelector(".notice"), "the page does not tell what was done");
  const task = await shop.show("first");
  equal(task.gate.current, "implement", "the gate of a rejected task is wrong");
  const last = task.gateHistory.at(-1);
  equal([last.outcome, last.agent, last.blockers], ["needs_review", "agent-review-1", BLOCKERS], "the entry of the rejection is wrong");
  equal((await shop.commits()) - before, 1, "the number of commits of a rejection is wrong");
  check((await shop.git("log", "-1", "--format=%B")).includes("AOF-first"), "the last commit does not name the task");
  await shop.sound();
}

export async function drag(stage) {
  const { shop, page, before } = await reviewed(stage);
  await liftCard(page, "AOF-first");
  const named = (kind) => page.locator(`[data-place]${kind}`).evaluateAll((places) => places.map((own) => own.dataset.place));
  equal(await named(":has(.drop)"), ["implement", "test security docs approve"], "the places that are offered are wrong");
  check((await named(".dimmed")).includes("(finished)"), "a place that no outcome leads to is not dimmed");
  equal(await page.locator(".drop").allInnerTexts(), ["Send back → implement", "Approve → test"], "the acts of the places are wrong");
  await dropCard(page, "implement");
  equal(await page.locator("dialog form").count(), 1, "the number of forms for one column is wrong");
  equal(await page.locator(".dimmed, .drop").count(), 0, "the number of marked places after the drop is wrong");
  await page.fill('dialog [name="blockers"]', BLOCKERS.join("\n"));
  await page.click("dialog button.primary");
  await wasRejected(shop, page, before);
}

export async function keys(stage) {
  const { shop, page, before } = await reviewed(stage);
  const { keyboard } = page;
  const focused = () => page.evaluate(() => document.activeElement.closest("[data-task]")?.dataset.task ?? document.activeElement.id);
  await keyboard.press("j");
  check((await focused()) !== "AOF-first", "`j` does not begin at the first column");
  await keyboard.press("l");
  equal(await focused(), "AOF-first", "the card that `l` leads to is wrong");
  await keyboard.press("r");
  await within(page.waitForSelector("dialog[open]"), "`r` brings no form");
  for (let tabs = 0; !(await focused()).endsWith("needs_review-blockers"); tabs++) {
    check(tabs < 20, "Tab does not lead to the field of what is to be fixed");
    await keyboard.press("Tab");
  }
  await keyboard.type(BLOCKERS[0]);
  await keyboard.press("Enter");
  await keyboard.type(BLOCKERS[1]);
  await keyboard.press("Tab");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await wasRejected(shop, page, before);
}

export async function together(stage) {
  const shop = await stage.shop();
  const server = await stage.serve(shop, "agent-dev-1");
  const pages = [await stage.visit(server), await stage.visit(server)];
  for (const page of pages) {
    await server.open(page, "tasks/AOF-first");
    await page.click("details.form summary:has-text('Done')");
  }
  const [first, second] = pages;
  const [summary, kept] = ['details[open] [name="summary"]', "What the slower one typed"];
  await second.fill(summary, kept);
  const before = await shop.commits("--", "tasks");
  await first.fill(summary, "The faster one's words");
  await first.click("details[open] button.primary");
  await within(second.waitForSelector(".toast:has-text('moved on')"), "the other browser does not say that the task moved on");
  equal(await second.inputValue(summary), kept, "the text that was typed beside a faster one is wrong");
  await second.click("details[open] button.primary");
  await within(second.waitForSelector(".refusal[role=alert]"), "the slower one is not refused");
  const refusal = await second.locator(".refusal").innerText();
  check(/AOF-first/.test(refusal) && refusal.length > 20, `the refusal is not clear: ${refusal}`);
  const typed = await second.evaluate(() => [...document.querySelectorAll("textarea")].map((own) => own.value).join() + document.body.innerText);
  check(typed.includes(kept), "the page of the refusal does not keep what was typed");
  await eventually(async () => (await shop.show("first")).gateHistory.length === 1, "the number of transitions is not one");
  equal((await shop.commits("--", "tasks")) - before, 1, "the number of commits of two completions of one visit is wrong");
  await shop.sound();
}

/** Acts of one click, their undo, several at once, and fields that are edited in their place; with and without a script. */
export async function acts(stage) {
  const shop = await stage.shop();
  fs.writeFileSync(shop.file("project.yaml"), "workflow: {gates: [{id: implement, role: developer}, {id: code-review, role: lead, canReject: true}, {id: test, role: lead, canReject: true}]}\n");
  fs.writeFileSync(shop.file("org.yaml"), "roles: {developer: {agents: [agent-dev-1]}, lead: {agents: [human-ann-example]}}\nagents: {agent-dev-1: {}, human-ann-example: {email: ann@example.com}}\n");
  await shop.git("commit", "-qam", "rules: have two gates for a person");
  const titles = ["One", "Two", "Three"];
  for (const title of titles) await shop.say(await shop.new(title), "agent-dev-1", "complete");
  const server = await stage.serve(shop, "human-ann-example");
  for (const javaScriptEnabled of [true, false]) {
    const page = await stage.visit(server, { javaScriptEnabled });
    const gates = async () => (await shop.json("list")).tasks.filter((task) => titles.includes(task.title)).map((task) => task.gate).sort();
    const moved = async (act, wanted) => {
      await within(page.waitForSelector(".notice"), `the page does not tell what ${act} did`);
      check((await page.locator(".refusal").count()) === 0, `${act} is refused: ${await page.locator(".notice").innerText()}`);
      equal(await gates(), wanted, `the gates after ${act} are wrong`);
    };
    const [here, there] = ["code-review", "test"];
    await page.hover(".card.for-you");
    await page.click(".card.for-you [data-act=approve] >> nth=0");
    await moved("Approve on a card", [here, here, there]);
    await page.click(".toast button");
    await moved("Undo", [here, here, here]);
    await server.open(page, "waiting");
    equal(await page.locator(".rows > li").count(), 3, "the number of rows that wait is wrong");
    await page.click(".rows .twist >> nth=1");
    await within(page.waitForSelector(".rows > .open .look"), "a row does not open");
    for (const at of [0, 1]) await page.check(`[name=tickets] >> nth=${at}`);
    await page.click("#bulk button");
    equal(await page.locator("form.plain li").count(), 2, "the number of tasks that are asked about is wrong");
    await page.click("form.plain button.primary");
    await moved("the approval of two", [here, there, there]);
    for (const { id, gate } of (await shop.json("list")).tasks) if (gate === there) await shop.aof("undo", id, "--agent", "human-ann-example");

    await server.open(page, "tasks/AOF-first");
    await page.click("[aria-label='Edit priority']");
    await page.selectOption("[name=priority]", "high");
    await page.click("details[open] > form >> text=Save");
    await within(page.waitForSelector(".fields .bars.high"), "the priority is not edited in its place");
    await page.click("[aria-label='Edit tags']");
    await page.fill("[name=tags]", "one two");
    await page.click("details[open] > form >> text=Save");
    await within(page.waitForSelector(".fields .tag >> text=two"), "the tags are not edited in their place");
    await page.click("[aria-label='Edit tags']");
    await page.fill("[name=tags]", "");
    await page.click("details[open] > form >> text=Save");
    await within(page.waitForSelector(".fields .tag", { state: "detached" }), "the tags are not removed");
    await page.fill("#comment", "Looks fine");
    await page.click("form.write button");
    await within(page.waitForSelector(".say >> text=Looks fine"), "the comment is not in the history");
    await server.open(page, "list?q=First");
    await server.open(page, "list");
    await page.check("tr:has-text('Three') [name=tickets]");
    await page.selectOption(".bulk [name=priority]", "low");
    await page.click(".bulk >> text=Set priority");
    await within(page.waitForSelector("tr:has-text('Three') .bars.low"), "the priority is not set from the list");
    await shop.aof("edit", "AOF-first", "--unset", "priority");
    for (const { id, title } of (await shop.json("list")).tasks) if (title === "Three") await shop.aof("edit", id, "--unset", "priority");
  }
  await shop.sound();
}
