// How the pages look, measured: nothing scrolls sideways, work begins near the top, texts and targets are large enough, nothing moves.

import fs from "node:fs";
import axe from "axe-core";
import { check, equal } from "./tools.mjs";

const WIDTHS = [1280, 820, 390];
const THEMES = ["light", "dark"];
/** How far down the first card may begin. */
const FIRST_CARD = { 1280: 110, 820: 150, 390: 150 };
/** Words that pages no longer say. */
const GONE = ["Say complete", "Other acts", "finished lately", "To mend", "wants one thing settled", "your word", "needs_review"];

/** Titles that are hard to show, and tasks in all states. */
async function fillHard(shop) {
  const titles = ["x", "A title of sixty letters, which is as long as most of them", "Word ".repeat(40).trim(), "שלום עולם, כותרת מימין", "日本語のタイトル 👩‍💻 全角文字がとても長い"];
  for (const title of titles) await shop.new(title, "--due", "today", "-p", "critical");
  const nine = Array.from({ length: 9 }, (_, at) => ["--tag", `label-${at}`]).flat();
  const tagged = await shop.new("Nine tags", ...nine, "-p", "low", "--due", "+3d");
  await shop.new("Late since last year", "--due", "2025-11-03");
  for (let number = 1; number <= 40; number++) await shop.new(`One of forty: ${number}`);
  const [taken, blocked, sent, ended, waits] = [await shop.new("Taken"), await shop.new("Blocked"), await shop.new("Sent back"), await shop.new("Cancelled"), await shop.new("Held")];
  await shop.aof("claim", taken, "--agent", "agent-dev-1");
  await shop.aof("block", blocked, "-m", "It waits for legal", "--agent", "agent-dev-1");
  await shop.say(sent, "agent-dev-1", "complete");
  await shop.say(sent, "agent-review-1", "needs_review", "--blocker", "Add a test for an expired card", "--blocker", "Name the field");
  await shop.aof("comment", sent, "-m", "Please look at Safari, too, @ann-example.", "--agent", "agent-dev-1");
  await shop.aof("cancel", ended, "-m", "Not needed", "--agent", "human-ann-example");
  await shop.aof("hold", waits, "-m", "Later", "--agent", "human-ann-example");
  await shop.new("After another one", "--depends", tagged, "--parent", sent);
  for (const number of [1, 2, 3]) {
    const task = await shop.new(`For approval ${number}`, "-p", number === 1 ? "high" : "medium");
    for (const agent of ["agent-dev-1", "agent-review-1", "agent-test-1"]) await shop.say(task, agent, "complete");
  }
  return sent;
}

/** What is wrong with a page as it is now, and figures of it. */
function measure([gone, isTouch]) {
  const faults = [];
  const shown = (own) => own.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && own.getClientRects().length > 0 && !own.closest(".hidden, .skip");
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) faults.push(`it is ${wide} px wider than the window`);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  let smallest = 99;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const own = node.parentElement;
    if (!node.data.trim() || own.closest("svg, script, textarea") || !shown(own)) continue;
    texts.push(node.data);
    const size = parseFloat(getComputedStyle(own).fontSize);
    if (own.closest(".who")) continue;
    smallest = Math.min(smallest, size);
    if (size < 12) faults.push(`the text "${node.data.slice(0, 30)}" has ${size} px`);
  }
  const text = texts.join("\n");
  const iso = /\d{4}-\d\d-\d\d(T\d\d)?/.exec(text);
  if (iso) faults.push(`it shows the time ${iso[0]}`);
  for (const word of gone) if (text.includes(word)) faults.push(`it says "${word}"`);
  let target = 99;
  for (const own of document.querySelectorAll("button, select, summary, .button, .chip, .icon, main a, input:not([type=hidden])")) {
    if (!shown(own) || own.closest(".text, p, svg, .hint") || own.matches(".card h3 a")) continue;
    // What a label or a larger area around it takes counts with it.
    const box = (own.closest("label") ?? own).getBoundingClientRect();
    const after = getComputedStyle(own, "::after");
    const more = after.position === "absolute" && after.content !== "none" ? -2 * parseFloat(after.top) : 0;
    const high = Math.round(box.height + (more || 0));
    const least = isTouch && own.matches("button, select, .button, .chip, .icon") ? 44 : 24;
    target = Math.min(target, high);
    if (high < least) faults.push(`the target ${own.outerHTML.slice(0, 80)} is ${high} px high`);
  }
  const first = document.querySelector(".card")?.getBoundingClientRect().top;
  return { faults: [...new Set(faults)].slice(0, 8), first, smallest, target };
}

async function looked(stage, server, pages, figures) {
  await Promise.all(WIDTHS.flatMap((width) => THEMES.map((colorScheme) => lookedAs(stage, server, pages, figures, width, colorScheme))));
}

async function lookedAs(stage, server, pages, figures, width, colorScheme) {
  const isTouch = width < 900;
  const page = await stage.visit(server, { colorScheme, viewport: { width, height: 844 }, hasTouch: isTouch, isMobile: isTouch });
  await page.addInitScript(() => {
    window.moved = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.moved += entry.value))).observe({ type: "layout-shift", buffered: true });
  });
  for (const name of pages) {
    await server.open(page, name);
    const place = `\`${name}\` (${colorScheme}, ${width} px)`;
    await page.waitForLoadState("networkidle").catch(() => {});
    const found = await page.evaluate(measure, [GONE, isTouch]);
    equal(found.faults, [], `what is measured at ${place} is wrong`);
    if (found.first !== undefined) {
      check(found.first < FIRST_CARD[width], `the first card at ${place} begins at ${found.first} px`);
      figures.first[width] = Math.max(figures.first[width] ?? 0, Math.round(found.first));
    }
    figures.smallest = Math.min(figures.smallest, found.smallest);
    const moved = await page.evaluate(() => window.moved);
    check(moved < 0.001, `something at ${place} moves by ${moved} while it is loaded`);
    await page.evaluate(axe.source);
    const violations = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.flatMap(({ id, nodes }) => nodes.map((own) => `${id}: ${own.html.slice(0, 120)} ${own.any[0]?.message ?? ""}`)));
    equal(violations, [], `what axe-core finds at ${place} is wrong`);
    figures.count++;
  }
  await page.context().close();
}

/** Gates of which the first has 40 cards, the second one, and the others none; a person and an agent share their initials. */
async function gated(stage, count) {
  const shop = await stage.shop(`gates-${count}`);
  const gates = Array.from({ length: count }, (_, at) => `    - {id: ${at === 1 ? "review" : `gate-${at + 1}`}, role: dev${at === 1 ? ", canReject: true" : ""}}`);
  fs.writeFileSync(shop.file("project.yaml"), `workflow:\n  gates:\n${gates.join("\n")}\n`);
  fs.writeFileSync(shop.file("org.yaml"), "roles: {dev: {agents: [agent-example, human-ann-example, anton-eder]}}\nagents: {agent-example: {maxTasks: 9}, anton-eder: {}, human-ann-example: {email: ann@example.com}}\n");
  await shop.git("commit", "-qam", "rules: have other gates");
  const titles = ["שלום עולם, כותרת מימין", "日本語のタイトル 👩‍💻 全角文字がとても長い", ...Array.from({ length: 37 }, (_, at) => `One of forty: ${at + 1}`)];
  const tags = Array.from({ length: 9 }, (_, at) => ["--tag", `label-${at}`]).flat();
  for (const title of titles) await shop.new(title, ...(title.startsWith("日") ? tags : []));
  await shop.say(await shop.new("Alone at its gate"), "agent-example", "complete");
  const [one, two] = (await shop.json("list")).tasks.filter((task) => task.gate === "gate-1");
  await shop.aof("claim", one.id, "--agent", "anton-eder");
  await shop.aof("claim", two.id, "--agent", "human-ann-example");
  return shop;
}

/** A window of 1280 x 1024 px at 400 %: no page scrolls sideways, and what acts can be reached and works. */
async function zoomed(stage, server, pages) {
  const page = await stage.visit(server, { viewport: { width: 320, height: 256 } });
  for (const name of pages) {
    await server.open(page, name);
    equal((await page.evaluate(measure, [GONE, false])).faults, [], `what is measured at \`${name}\` at 400 % is wrong`);
  }
  await server.open(page, "waiting");
  const rows = page.locator("main [data-task]");
  const before = await rows.count();
  await page.getByRole("button", { name: /^Approve/ }).first().click();
  await page.waitForFunction((count) => document.querySelectorAll("main [data-task]").length < count, before);
  await page.context().close();
}

/** A person is round and a program square, also where their letters are the same. */
async function differ(stage, server) {
  const page = await stage.visit(server);
  const signs = await page.locator(".card .who").evaluateAll((own) => own.map((one) => [one.textContent, one.getAttribute("aria-label"), parseFloat(getComputedStyle(one).borderRadius) > 8]));
  const wanted = [["AE", "anton-eder", false], ["AE", "ann-example", true]];
  for (const sign of wanted) check(signs.some((own) => JSON.stringify(own) === JSON.stringify(sign)), `the sign ${sign} is not among ${JSON.stringify(signs)}`);
  const strips = await page.locator(".strip").count();
  check(strips > 0, "gates without cards are not strips");
}

export async function surface(stage) {
  const figures = { first: {}, smallest: 99, count: 0 };
  const bare = await stage.shop("bare");
  await bare.aof("cancel", "first", "-m", "Nothing is to be done", "--agent", "human-ann-example");
  const shop = await stage.shop();
  const task = await fillHard(shop);
  const server = await stage.serve(shop, "human-ann-example");
  await looked(stage, server, ["", "?q=xyzzy", `tasks/${task}`, "waiting", "list", "activity", "statistics", "workflow", "status", "verify", "new", `tasks/${task}/edit`], figures);
  await zoomed(stage, server, ["", `tasks/${task}`, "waiting", "list", "activity", "status", "new"]);
  const empty = await stage.serve(bare, "human-ann-example");
  await looked(stage, empty, [""], figures);
  for (const count of [3, 8, 20]) {
    const board = await stage.serve(await gated(stage, count), "human-ann-example");
    await looked(stage, board, [""], figures);
    await differ(stage, board);
  }
  const { first } = figures;
  return `${figures.count} pages; the first card is at ${WIDTHS.map((width) => `${first[width]} px of ${width}`).join(", ")}; no text below ${figures.smallest} px`;
}
