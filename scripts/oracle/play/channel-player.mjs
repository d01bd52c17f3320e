import { PassThrough } from "node:stream";
import { Journal } from "./journal.mjs";
import { createServer } from "./kinds.mjs";
import { during, quiet } from "./quiet.mjs";
import { sortedStats, Values } from "./values.mjs";

/**
 * Plays a script of frames against a new server, over a channel in memory or over byte streams.
 *
 * A step is `{ send }` with a message or a text, `{ together }` with several in one turn, `{ act }` for an action of
 * the server's author, or `{ end: true }` for the end of the client.
 * @param {Record<string, any>} sdk
 * @param {any} scenario
 */
export async function playChannel(sdk, scenario) {
  const journal = new Journal();
  const { server, act } = createServer(sdk, scenario.server, journal);
  const wire = WIRES[scenario.wire](sdk, journal);
  const connection = await server.accept(wire.channel, scenario.origin);
  connection.closed.then(() => journal.saw("connection is closed"));
  const values = new Values();
  for (const step of scenario.steps) {
    if (step.act !== undefined) act(step.act);
    else if (step.end) wire.end();
    else for (const frame of step.together ?? [step.send]) wire.send(toText(values.fill(frame)));
    await quiet();
    values.take({ chunks: wire.frames.map((frame) => `${frame}\n`) });
  }
  journal.saw("stats", sortedStats(server));
  await during(server.close());
  await quiet();
  wire.end();
  await quiet(3);
  for (const frame of wire.frames) journal.answer(frame);
  return journal;
}

const toText = (frame) => (typeof frame === "string" ? frame : JSON.stringify(frame));

const WIRES = {
  memory(sdk, journal) {
    const [ours, channel] = sdk.createChannelPair();
    const frames = [];
    ours.open({
      onFrame: (text) => frames.push(text),
      onProblem: (problem) => journal.saw("problem", problem),
      onClose: (reason) => journal.saw("channel closes", reason ?? null),
    });
    return {
      channel,
      frames,
      send: (text) => void Promise.resolve(ours.send(text)).catch((error) => journal.saw("send fails", error)),
      end: () => void ours.close(),
    };
  },

  stdio(sdk, journal) {
    const input = new PassThrough();
    const output = new PassThrough();
    const channel = openStdio(sdk, { input, output }, { maxLineBytes: 4000 });
    const frames = [];
    let rest = "";
    output.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      frames.push(...lines);
    });
    output.once("end", () => journal.saw("output ends", rest));
    return {
      channel,
      frames,
      send: (text) => input.writable && input.write(`${text}\n`),
      end: () => input.end(),
    };
  },
};

/** Older builds have the limits among the options. */
function openStdio(sdk, streams, limits) {
  try {
    return sdk.createStdioServerChannel({ ...streams, ...limits });
  } catch {
    return sdk.createStdioServerChannel({ ...streams, limits });
  }
}
