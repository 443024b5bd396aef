// What all scenes need: a project, its server, browsers that are logged in, and checks that fail with a sentence.

import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

export const AOF = process.argv[2];
export const ROOT = process.argv[3];
/** How long a scene waits for what has to come. */
const PATIENCE = 15_000;

/** What a scene found wrong, as a sentence. */
export class Failure extends Error {}

export function check(holds, sentence) {
  if (!holds) throw new Failure(sentence);
}

export function equal(found, expected, sentence) {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value));
  check(a === b, `${sentence}: it is ${a}, not ${b}`);
}

/** Waits for a promise of the browser's; its failure gets a sentence. */
export async function within(promise, sentence) {
  try {
    return await promise;
  } catch (fault) {
    throw new Failure(`${sentence} (${fault.message.split("\n")[0]})`);
  }
}

export async function eventually(holds, sentence) {
  for (const end = Date.now() + PATIENCE; ; await pause(25)) {
    if (await holds()) return;
    check(Date.now() < end, sentence);
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Moves the mouse to the middle of an element. */
export async function moveTo(page, selector) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
}

/** Takes a card up by the mouse. */
export async function liftCard(page, task) {
  await moveTo(page, `#card-${task}`);
  await page.mouse.down();
  await moveTo(page, `#card-${task} .meta`);
  await moveTo(page, '[data-place~="test"]');
  await within(page.waitForSelector("[data-place] > .drop"), "no place is offered to a card that is dragged");
}

/** Drops the card that was taken up, and waits for what the column asks for. */
export async function dropCard(page, place) {
  await moveTo(page, `[data-place~="${place}"] > .drop`);
  await page.mouse.up();
  await within(page.waitForSelector("dialog[open]"), "no form comes for a card that was dropped");
}

/** Returns the value below which that part of the numbers lies. */
export function quantile(numbers, part) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.ceil(part * sorted.length) - 1];
}

/** Whatever one scene uses; all of it is gone when the scene ends. */
export class Stage {
  constructor(browser) {
    this.browser = browser;
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "aof-browser-"));
    this.environment = { PATH: process.env.PATH, HOME: this.home, GIT_CONFIG_NOSYSTEM: "1", LANG: "C.UTF-8", TZ: "UTC" };
    this.servers = [];
    this.faults = [];
    const settings = { user: "name = Ann Example\n\temail = ann@example.com", init: "defaultBranch = main", gc: "auto = 0" };
    const text = Object.entries(settings).map(([name, value]) => `[${name}]\n\t${value}\n`);
    fs.writeFileSync(path.join(this.home, ".gitconfig"), text.join(""));
  }

  /** Returns a project with the gates of the template `sdlc`. */
  async shop(name = "shop") {
    const shop = new Shop(path.join(this.home, name), this.environment);
    fs.mkdirSync(shop.folder);
    await shop.aof("init", "--template", "sdlc");
    return shop;
  }

  async serve(shop, agent, port = 0) {
    const server = await Server.start(shop, agent, port);
    this.servers.push(server);
    return server;
  }

  /** Returns a page of a new browser that is logged in and shows the board. What its scripts fail at fails the scene. */
  async visit(server, options = {}) {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(PATIENCE);
    context.on("weberror", (own) => this.faults.push(`a script failed: ${own.error().message}`));
    const page = await context.newPage();
    await page.goto(await server.link());
    await server.open(page);
    return page;
  }

  async close() {
    await Promise.race([this.browser.close(), pause(PATIENCE)]);
    for (const server of this.servers) await server.end("SIGKILL");
    fs.rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Shop {
  constructor(folder, environment) {
    this.folder = folder;
    this.environment = environment;
  }

  async run(program, ...words) {
    const options = { cwd: this.folder, env: this.environment, timeout: 150_000, maxBuffer: 1 << 26 };
    return (await promisify(execFile)(program, words, options)).stdout;
  }

  aof(...words) {
    return this.run(AOF, ...words);
  }

  git(...words) {
    return this.run("git", ...words);
  }

  async json(...words) {
    return JSON.parse(await this.aof(...words, "--json"));
  }

  async new(...words) {
    return (await this.json("new", ...words)).id;
  }

  show(task) {
    return this.json("show", task);
  }

  async say(task, agent, outcome, ...words) {
    await this.aof("complete", task, "--agent", agent, "--outcome", outcome, "--summary", "Done", ...words);
  }

  /** Returns how many commits there are, in all or of one task. */
  async commits(...words) {
    return Number(await this.git("rev-list", "--count", "HEAD", ...words));
  }

  file(name) {
    return path.join(this.folder, name);
  }

  async sound() {
    await within(this.aof("verify"), "`aof verify` finds fault with the history");
    equal(await this.git("status", "--porcelain"), "", "`git status` is not clean");
  }
}

export class Server {
  static async start(shop, agent, port) {
    const words = ["--json", "serve", "--port", String(port), "--agent", agent];
    const child = spawn(AOF, words, { cwd: shop.folder, env: shop.environment, stdio: ["ignore", "pipe", "pipe"] });
    const server = Object.assign(new Server(), { shop, child, said: "" });
    child.stderr.on("data", (bytes) => (server.said += bytes));
    server.ended = new Promise((resolve) => child.on("exit", resolve));
    const lines = createInterface(child.stdout);
    const first = await Promise.race([new Promise((resolve) => lines.once("line", resolve)), server.ended]);
    check(typeof first === "string", `the server does not start: ${server.said}`);
    server.url = JSON.parse(first).url;
    server.port = Number(new URL(server.url).port);
    server.board = `${server.url}/${path.basename(shop.folder)}/`;
    return server;
  }

  async link() {
    // Without a terminal it prints a link that only shows.
    return (await this.shop.run("script", "-qec", `'${AOF}' serve --link`, "/dev/null")).trim();
  }

  page(name) {
    return this.board + name;
  }

  /** Opens a page as soon as the server has read its project. */
  async open(page, name = "") {
    let answer;
    await eventually(async () => {
      answer = await page.goto(this.page(name)).catch((fault) => {
        // The act before leads to a page, too.
        check(fault.message.includes("interrupted by another navigation"), fault.message);
      });
      return answer && answer.status() !== 503;
    }, "the server does not read its project");
    equal(answer.status(), 200, `the status of the page \`${name}\` is wrong`);
    return answer;
  }

  async end(signal) {
    this.child.kill(signal);
    await this.ended;
  }
}

export function launch() {
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}
