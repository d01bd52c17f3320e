import { drive } from "../load/drive.mjs";
import { clock, progressSteps } from "../workload/app.mjs";
import { wires } from "../workload/wires.mjs";
import { answer } from "./answer.mjs";

/** `node client.mjs <peer> <wire> [target]`: a peer's own client, which drives the workload from its process. */
const [, , peer, wire, target] = process.argv;
process.on("unhandledRejection", (error) => console.error(peer, wire, error));

let client;
let notes = 0;

const work = {
  echo: () => client.echo("hello world"),
  list: () => client.list(),
  read1k: () => client.read1k(),
  read1m: () => client.read1m(),
  progress: () => client.progress(() => notes++),
};

const turn = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await answer(
  async () => {
    const { connect } = await import(`../adapters/${peer}/client.mjs`);
    client = await connect(wires[wire], target && JSON.parse(target));
    return { can: Object.keys(client) };
  },
  {
    run: (name, options) => drive({ most: Infinity, ...options }, work[name]),

    async check(name) {
      notes = 0;
      const result = await work[name]();
      if (name === "progress" && notes !== progressSteps) throw new Error(`${notes} notifications of progress arrived`);
      return JSON.stringify(result).length;
    },

    /** Cancels `count` calls, `concurrency` at a time; gives when, by tag, unless the tags are to be empty. */
    async cancel({ count, concurrency, settleMs, tagged }) {
      const times = {};
      let begun = 0;
      const worker = async () => {
        while (begun < count) {
          const tag = tagged ? `tag${begun}` : "";
          begun++;
          const abort = new AbortController();
          const call = client.slow(tag, abort.signal).catch(() => undefined);
          await turn(settleMs);
          if (tagged) times[tag] = clock();
          abort.abort();
          await call;
        }
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
      return times;
    },
  },
);
