import { drive } from "../load/drive.mjs";
import { clock, progressSteps } from "../workload/app.mjs";
import { wires } from "../workload/wires.mjs";
import { answer } from "./answer.mjs";

/** A peer's own client, which runs the workload from its own process: `node client.mjs <peer> <wire> [target]`. */
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

    /**
     * Makes a call and returns its problem, if there is one. Some clients lose progress that arrives with the response.
     */
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

    /** Aborts the calls that were begun. Returns the time of each abort by tag when all calls have ended. */
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
