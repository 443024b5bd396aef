// Runs the scenes, each with its own project, server and browsers, and says what they found.

import * as board from "./board.mjs";
import * as live from "./live.mjs";
import * as keys from "./keys.mjs";
import { load } from "./load.mjs";
import * as pages from "./pages.mjs";
import * as proof from "./proof.mjs";
import { surface } from "./surface.mjs";
import { Failure, Stage, launch, pause } from "./tools.mjs";

/** How long a scene may take, however slow the machine is. A browser that hangs has no limit of its own. */
const LONGEST = 300_000;
/** What is run only where it is asked for. */
const ASKED_FOR = { "--load": { load } };

const SCENES = { ...board, ...keys, ...live, ...pages.SCENES, ...proof, surface };

async function play(name, scene) {
  const stage = new Stage(await launch());
  const start = Date.now();
  let found;
  try {
    const late = pause(LONGEST).then(() => Promise.reject(new Failure(`it takes longer than ${LONGEST / 1000} s`)));
    const figures = await Promise.race([scene(stage), late]);
    if (stage.faults.length > 0) throw new Failure(stage.faults.join("; "));
    console.log(`${name}: well (${((Date.now() - start) / 1000).toFixed(1)} s)${figures ? `: ${figures}` : ""}`);
  } catch (fault) {
    found = fault instanceof Failure ? fault.message : fault.stack;
    console.error(`browser: ${name}: ${found}`);
  } finally {
    await stage.close();
  }
  return !found;
}

async function main(words) {
  const scenes = ASKED_FOR[words[0]] ?? SCENES;
  const names = scenes === SCENES && words.length > 0 ? words : Object.keys(scenes);
  const unknown = names.filter((name) => !Object.hasOwn(scenes, name));
  if (unknown.length > 0) throw new Failure(`there is no scene \`${unknown}\`; there are ${Object.keys(SCENES).join(", ")}`);
  let failed = 0;
  for (const name of names) failed += !(await play(name, scenes[name]));
  if (failed > 0) throw new Failure(`${failed} scenes found something`);
}

main(process.argv.slice(4))
  .catch((fault) => {
    console.error(`browser: ${fault instanceof Failure ? fault.message : fault.stack}`);
    process.exitCode = 1;
  })
  // What is left of a browser that crashed would keep this process.
  .finally(() => process.exit());
