import { casesOf, type Open } from "#src/testing/contract/world.js";
import { registerAs } from "../../contract/register.js";
import { until } from "../census.js";
import { StreamsWorld } from "../streams-world.js";

/** Registers the tests of clients of several SDKs on two nodes whose streams can be resumed. */
export function clientRounds(name: string, open: Open): void {
  const add = casesOf(registerAs(name), open);
  for (const client of ["v1", "v2", "bowline"] as const) {
    add(`nothing is left of cancelled calls, ${client}`, async ({ node }) => {
      const clusters = [await node(), await node()];
      await StreamsWorld.with({ client, log: "kept", clusters }, (world) =>
        world.assertCancels({ calls: 3, log: "kept" }),
      );
    });

    add(`a GET stream that is lost in silence is replaced, ${client}`, async ({ node }) => {
      const clusters = [await node(), await node()];
      await StreamsWorld.with({ client, log: "kept", clusters }, async (world) => {
        const [lost] = world.proxy.openGets;
        lost?.loseInSilence();
        await until("the client listens again", () => lost?.isOpen === false && world.proxy.openGets.length === 1);
        await world.quiet();
        await world.assertHears();
      });
    });
  }
}
