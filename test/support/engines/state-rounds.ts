import { deepEqual, equal, ok } from "node:assert/strict";
import { type Case, casesOf, type Open, type Stage, until } from "#src/testing/contract/world.js";
import { registerAs } from "../../contract/register.js";
import { SharedShop } from "../shared-shop.js";

const BOUGHT = "bought in run 1";
/** Maximum time in which a state is refused while the engine is away. */
const FAST_MS = 10_000;
const LEASE_MS = 2_000;

async function open({ scope: t, node }: Stage) {
  const nodes = [await node(), await node()] as const;
  return { nodes, shop: new SharedShop(t, nodes, { limits: { nodeLeaseMs: LEASE_MS } }) };
}

/** Registers the tests of servers that share the use of sealed states by an engine. */
export function stateRounds(name: string, openWorld: Open): void {
  const add = casesOf(registerAs(name), openWorld);
  retries(add);
  losses(add);
}

function retries(add: Case): void {
  add("a state that is presented to another node waits for its round, and gets the outcome after it", async (stage) => {
    const { shop } = await open(stage);
    const again = await shop.begin();
    const one = shop.send(0, again);
    await shop.charged.opened;
    const waiting = [shop.send(1, again), shop.send(0, again)];
    await until(() => shop.servers[1]?.stats().running === 1, "the call waits");
    shop.release.open();
    for (const exchange of [one, ...waiting, shop.send(1, again)]) equal(await shop.read(exchange), BOUGHT);
    deepEqual([shop.counts, shop.reported], [{ runs: 1, charges: 1 }, []]);
  });

  add("of many presentations at once, one runs", async (stage) => {
    const { shop } = await open(stage);
    shop.release.open();
    const again = await shop.begin();
    const all = Array.from({ length: 20 }, (_, at) => shop.send(at % 2, again));
    for (const exchange of all) equal(await shop.read(exchange), BOUGHT);
    deepEqual(shop.counts, { runs: 1, charges: 1 });
  });

  add("a round that failed runs again on another node, and its steps do not", async (stage) => {
    const { shop } = await open(stage);
    shop.fails = true;
    const again = await shop.begin();
    equal(await shop.read(shop.send(0, again)), "out of stock");
    shop.fails = false;
    shop.release.open();
    equal(await shop.read(shop.send(1, again)), "bought in run 2");
    deepEqual(shop.counts, { runs: 2, charges: 1 });
  });
}

function losses(add: Case): void {
  add(
    "a round that runs while the engine is killed answers its client, and a retry gets its outcome",
    async (stage) => {
      const { nodes, shop } = await open(stage);
      const again = await shop.begin();
      const one = shop.send(0, again);
      await shop.charged.opened;
      await stage.engine.kill();
      shop.release.open();
      equal(await shop.read(one), BOUGHT);
      const start = performance.now();
      const refused = shop.send(1, again);
      await refused.done;
      equal(refused.status, 503);
      ok(performance.now() - start < FAST_MS);
      await stage.engine.start();
      await until(() => nodes.every(({ available }) => available), "the engine is back");
      const texts: string[] = [];
      await until(
        async () => texts.push(await shop.read(shop.send(1, again))) > 0 && texts.at(-1) === BOUGHT,
        `${texts}`,
      );
      deepEqual(shop.counts, { runs: 1, charges: 1 });
    },
  );

  add("the outcome of a round whose node is gone is unknown, and the round does not run again", async (stage) => {
    const { nodes, shop } = await open(stage);
    const again = await shop.begin(1);
    shop.send(0, again);
    await shop.charged.opened;
    const waiting = shop.send(1, again);
    await stage.crash(nodes[0]);
    await until(() => waiting.status !== undefined, "the waiting call is told");
    equal(
      await shop.read(waiting),
      "The outcome of this request is unknown: the process that ran it is gone. It is not run again",
    );
    deepEqual(shop.counts, { runs: 1, charges: 1 });
  });
}
