// How a server bears a big project with many readers: the figures in docs/performance.md. It asserts nothing: machines differ.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { AOF, pause, quantile } from "./tools.mjs";

const TASKS = 10_000;
const STREAMS = 97;
const CHANGES = 20;
const PAGES = ["", "waiting", "tasks/TASK", "activity", "statistics", "status"];
const rounded = (numbers) => `median ${quantile(numbers, 0.5).toFixed(0)}, P95 ${quantile(numbers, 0.95).toFixed(0)} ms`;

function memory(server) {
  const status = fs.readFileSync(`/proc/${server.child.pid}/status`, "utf8");
  const of = (name) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024);
  // What git's packs have mapped is the system's to take back.
  return `${of("RssAnon")} MiB of its own, ${of("RssFile")} MiB of mapped files`;
}

/** Opens a stream, and calls `tell` for each change. */
async function follow(server, cookie, tell) {
  const answer = await fetch(`${server.url}/events`, { headers: { cookie } });
  const read = async () => {
    for await (const part of answer.body) if (Buffer.from(part).includes("event: change")) tell();
  };
  read().catch(() => {}); // The server's end cuts it off.
}

export async function load(stage) {
  const shop = await stage.shop();
  const body = "A line about what is to be done here, and why.\n".repeat(20);
  const tasks = Array.from({ length: TASKS }, (_, number) => ({ title: `Part ${number}`, body, tags: number % 7 ? [] : ["api"] }));
  fs.writeFileSync(path.join(stage.home, "tasks.json"), JSON.stringify(tasks));
  await shop.aof("new", "--from", path.join(stage.home, "tasks.json"));
  await shop.git("gc", "--quiet");
  // git has packed the branch: a commit gives it a file again, which can be watched.
  await shop.aof("comment", "first", "-m", "Number -1");
  const server = await stage.serve(shop, "human-ann-example");
  const browsers = [];
  for (let number = 0; number < 3; number++) browsers.push(await stage.visit(server));
  console.log(`started: ${memory(server)}`);

  const cookie = (await browsers[0].context().cookies()).map((own) => `${own.name}=${own.value}`).join("; ");
  let arrivals = [];
  for (let number = 0; number < STREAMS; number++) await follow(server, cookie, () => arrivals.push(performance.now()));
  await pause(1000);
  for (const name of PAGES) {
    const times = [];
    let bytes;
    for (let count = 0; count < 20; count++) {
      const start = performance.now();
      bytes = (await (await fetch(server.page(name.replace("TASK", "AOF-first")), { headers: { cookie } })).text()).length;
      times.push(performance.now() - start);
    }
    console.log(`/${name}: ${rounded(times)}, ${bytes} bytes`);
  }
  const paints = [];
  for (let count = 0; count < 10; count++) {
    await browsers[0].goto(server.board);
    const painted = await browsers[0].waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    paints.push(await painted.jsonValue());
  }
  console.log(`first paint of the board: ${rounded(paints)}`);

  await pause(2000);
  console.log(`after that: ${memory(server)}`);
  const branch = shop.file(".git/refs/heads/main");
  const delays = [];
  for (let number = 0; number < CHANGES; number++) {
    const before = fs.readFileSync(branch, "utf8");
    arrivals = [];
    const child = spawn(AOF, ["comment", "first", "-m", `Number ${number}`], { cwd: shop.folder, env: shop.environment, stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    while (fs.readFileSync(branch, "utf8") === before) await pause(1);
    const moved = performance.now();
    await ended;
    await pause(1000);
    delays.push(...arrivals.map((time) => time - moved));
  }
  console.log(`${delays.length} of ${STREAMS * CHANGES} changes came after the branch had moved: ${rounded(delays)}`);
  return memory(server);
}
