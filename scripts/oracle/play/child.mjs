import { createWriteStream } from "node:fs";
import { createCorpus } from "../corpus/corpus.mjs";
import { playChannel } from "./channel-player.mjs";
import { playClient } from "./client-player.mjs";
import { playHttp } from "./http-player.mjs";
import { Mask } from "./mask.mjs";
import { prepareProcess } from "./quiet.mjs";
import { loadSdk } from "./sdk.mjs";

/**
 * Plays the whole corpus against one build and writes a transcript: a line of JSON per scenario, with its name and
 * outcome.
 */
const { dist, file, corpus: options } = JSON.parse(process.argv[2]);
const PLAYERS = { http: playHttp, channel: playChannel, client: playClient };

prepareProcess();
process.on("unhandledRejection", (error) => stray.push(`unhandled rejection: ${error}`));
process.on("uncaughtException", (error) => stray.push(`uncaught exception: ${error}`));
process.on("warning", (warning) => stray.push(`warning: ${warning.name}: ${warning.message}`));
let stray = [];

const sdk = await loadSdk(dist);
const out = createWriteStream(file);
for (const scenario of createCorpus(options)) {
  stray = [];
  let transcript;
  try {
    transcript = await PLAYERS[scenario.kind](sdk, scenario);
  } catch (error) {
    transcript = { failure: error.stack.split("\n").slice(0, 4) };
  }
  const text = JSON.stringify({ ...(stray.length > 0 && { stray }), transcript });
  out.write(`${JSON.stringify(scenario.name)}\t${new Mask(transcript.port).apply(text)}\n`);
}
out.end(() => process.exit(0));
