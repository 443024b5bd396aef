// What holds whatever happens: signatures by passkeys, and whole transitions when the server is killed.

import fs from "node:fs";
import path from "node:path";
import { check, dropCard, equal, liftCard, pause, within } from "./tools.mjs";

/** Has the browser keep passkeys, with a finger that is always there. */
async function keepPasskeys(page) {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  await protocol.send("WebAuthn.addVirtualAuthenticator", { options });
}

async function makePasskey(page, server) {
  await server.open(page, "passkey");
  await page.click("text=Make a passkey");
  await within(page.waitForSelector("pre:has-text('signingKey')"), "the page makes no passkey");
  return /signingKey: "(.*)"/.exec(await page.textContent(".passkey pre"))[1];
}

/** Sends an approval signed by that credential, which says that it is that key. Returns the answer's status and refusal. */
function forge(page, [credential, key], summary) {
  return page.evaluate(
    async ([credential, key, summary]) => {
      const form = [...document.forms].find((own) => own.dataset.outcome === "complete");
      const fields = new URLSearchParams(new FormData(form));
      fields.set("summary", "What was signed");
      const wanted = await (await fetch(form.dataset.sign, { method: "POST", body: fields })).json();
      fields.set("ticket", wanted.ticket);
      fields.set("summary", summary);
      // The page's own function: it takes any key for the one that signs.
      fields.set("signature", await window.signature({ ...wanted, keys: [{ credential, key }] }));
      const answer = await fetch(form.action, { method: "POST", body: fields });
      const said = new DOMParser().parseFromString(await answer.text(), "text/html");
      return [answer.status, said.querySelector(".refusal")?.textContent];
    },
    [credential, key, summary],
  );
}

/** Has a task created in the browser, worked on by an agent over HTTP, and sent back by dragging its card. Returns it when it waits for approval. */
async function worked(stage, shop) {
  const server = await stage.serve(shop, "human-ann-example");
  const page = await stage.visit(server);
  await server.open(page, "new");
  await page.fill('[name="title"]', "Gift cards");
  await page.click("main form button.primary");
  await within(page.waitForURL(/tasks\/AOF-/), "the page of a new task does not come");
  const task = page.url().split("/").at(-1);
  const { token } = await shop.json("mcp", "token", "agent-dev-1");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const work = async () => {
    const params = { name: "aof_task_complete", arguments: { task, outcome: "complete", summary: "Done over HTTP" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const { result } = await (await fetch(`${server.url}/mcp`, { method: "POST", headers, body })).json();
    check(!result.isError, `the agent is refused over HTTP: ${result.content[0].text}`);
  };
  await work();
  await server.end("SIGTERM");
  const reviewing = await stage.serve(shop, "agent-review-1", server.port);
  await reviewing.open(page);
  await liftCard(page, task);
  await dropCard(page, "implement");
  await page.fill('dialog [name="blockers"]', "No test of umlauts");
  await page.click("dialog button.primary");
  await within(page.waitForSelector(".notice"), "the page does not tell that the task was sent back");
  await work();
  await reviewing.end("SIGTERM");
  for (const agent of ["agent-review-1", "agent-test-1"]) await shop.say(task, agent, "complete");
  return task;
}

export async function passkey(stage) {
  const shop = await stage.shop();
  const task = await worked(stage, shop);
  const server = await stage.serve(shop, "human-ann-example");
  const page = await stage.visit(server);
  await keepPasskeys(page);
  const key = await makePasskey(page, server);
  const org = fs.readFileSync(shop.file("org.yaml"), "utf8");
  const signed = org.replace("  human-ann-example:\n", `  human-ann-example:\n    signingKey: "${key}"\n`);
  check(signed !== org, "org.yaml has no place for the key");
  fs.writeFileSync(shop.file("org.yaml"), `passkeyOrigins: ["${server.url}"]\n${signed}`);
  await shop.git("commit", "-qam", "org: Ann signs with a passkey");

  const other = await makePasskey(page, server);
  await server.open(page, `tasks/${task}`);
  const credential = (line) => line.split("passkey:")[1];
  for (const [kind, forged, summary] of [
    ["by another key", [credential(other), other], "What was signed"],
    ["by another key under the right one's name", [credential(other), key], "What was signed"],
    ["of another text", [credential(key), key], "What was not signed"],
  ]) {
    const [status, refusal] = await forge(page, forged, summary);
    check(status === 409 && /sign/.test(refusal ?? ""), `a signature ${kind} is answered with ${status}: ${refusal}`);
    equal((await shop.show(task)).gate.current, "approve", `the gate after a signature ${kind} is wrong`);
  }

  await page.click("details.form summary:has-text('Approve')");
  await page.click("details[open] button.primary");
  await within(page.waitForSelector(".notice[role=status]"), "the page does not tell that the approval counts");
  const { status, gateHistory } = await shop.show(task);
  equal(status, "complete", "the status of the approved task is wrong");
  const steps = ["implement complete", "code-review needs_review", "implement complete", "code-review complete", "test complete", "approve complete"];
  equal(gateHistory.map(({ gate, outcome }) => `${gate} ${outcome}`), steps, "the history of the approved task is wrong");
  equal(await shop.commits("--", "tasks", `:(exclude)tasks/AOF-first.md`), steps.length + 1, "the number of commits of the task is wrong");
  await shop.sound();
  const evidence = path.join(stage.home, "evidence");
  await shop.aof("history", `${task}@${gateHistory.length - 1}`, "--export", evidence);
  const words = ["-Y", "verify", "-f", "allowed_signers", "-I", "human-ann-example", "-n", "aof", "-s", "completion.sig"];
  const verify = (text) => shop.run("bash", "-c", `cd "$1" && printf %s "$2" | cat completion - | ssh-keygen "\${@:3}"`, "-", evidence, text, ...words);
  await within(verify(""), "`ssh-keygen` does not agree that Ann has signed");
  const holds = await verify("More").then(() => true, () => false);
  check(!holds, "`ssh-keygen` takes the signature for that of another text");
}

const KILLS = 20;
const LATEST_KILL_MS = 50;

export async function killed(stage) {
  const shop = await stage.shop();
  const tasks = [];
  while (tasks.length < KILLS) tasks.push(await shop.new(`Part ${tasks.length}`));
  let server = await stage.serve(shop, "agent-dev-1");
  const page = await stage.visit(server);
  let whole = 0;
  for (const task of tasks) {
    const before = await shop.commits();
    await server.open(page, `tasks/${task}`);
    await page.click("details.form summary:has-text('Done')");
    await page.fill('details[open] [name="summary"]', "Done before the end");
    const sent = page.waitForRequest((request) => request.method() === "POST");
    const answered = page.waitForEvent("domcontentloaded");
    await page.click("details[open] button.primary", { noWaitAfter: true });
    await sent;
    await pause(Math.random() * LATEST_KILL_MS);
    await server.end("SIGKILL");
    // The task, or the browser's own page about a server that is gone.
    await within(answered, "the browser shows no answer to the form");
    await shop.aof("sweep");
    const { gateHistory = [], gate } = await shop.show(task);
    const entries = gateHistory.length;
    check(entries <= 1 && gate.current === ["implement", "code-review"][entries], `a kill leaves ${task} at \`${gate.current}\` with ${JSON.stringify(gateHistory)}`);
    equal((await shop.commits()) - before, entries, "the number of commits after a kill is wrong");
    equal(await shop.git("status", "--porcelain"), "", "`git status` after a kill is not clean");
    whole += entries;
    server = await stage.serve(shop, "agent-dev-1", server.port);
  }
  await shop.sound();
  return `${KILLS} kills, ${whole} transitions whole and ${KILLS - whole} absent`;
}
