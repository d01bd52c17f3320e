import { drive } from "../load/drive.mjs";
import { clock, progressSteps } from "../workload/app.mjs";
import { wires } from "../workload/wires.mjs";
import { answer } from "./answer.mjs";

/** `node client.mjs <peer> <wire> [target]`: a peer's own client, which drives the workload from its process. */
const [, , peer, wire, target] = process.argv;
process.on("unhandledRejection", (error) => console.error(peer, wire, error));

let client;
let notes = 0;
let begun = [];

const work = {
  echo: () => client.echo("hello world"),
  list: () => client.list(),
  read1k: () => client.read1k(),
  read1m: () => client.read1m(),
  progress: () => client.progress(() => notes++),
};

await answer(
  async () => {
    const { connect } = await import(`../adapters/${peer}/client.mjs`);
    client = await connect(wires[wire], target && JSON.parse(target));
    return { can: Object.keys(client) };
  },
  {
    run: (name, options) => drive({ most: Infinity, ...options }, work[name]),

    /** Makes a call; gives what is odd about it. Some clients lose progress that arrives with the answer. */
    async check(name) {
      notes = 0;
      await work[name]();
      const missing = name === "progress" ? progressSteps - notes : 0;
      return missing === 0 ? undefined : `${missing} of ${progressSteps} notifications of progress were lost`;
    },

    /** Begins slow calls, one per tag. */
    begin(tags) {
      begun = tags.map((tag) => {
        const abort = new AbortController();
        return { tag, abort, call: client.slow(tag, abort.signal).catch(() => undefined) };
      });
    },

    /** Aborts what was begun; gives when, by tag, once every call is over. */
    async abort() {
      const times = {};
      for (const { tag, abort } of begun) {
        times[tag] = clock();
        abort.abort();
      }
      await Promise.all(begun.map(({ call }) => call));
      return times;
    },
  },
);
