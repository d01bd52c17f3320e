import { deepEqual, equal } from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { assertGivenUp, createWaiting } from "../support/abort-many.js";
import { type BareWorld, eachBareWire } from "../support/bare-wire.js";
import { takeCensus, until } from "../support/census.js";
import { verifies } from "../support/verifies.js";

const CALLS = 300;
const AT_ONCE = 100;

verifies(
  "protocol:cancel:frees-resources",
  "calls that are given up before, or while, they are sent leave nothing either",
  eachBareWire,
  async (world: BareWorld) => {
    const { server, counts } = createWaiting();
    const { client, quiet } = await world.connect(server);
    equal((await client.callTool("echo")).text, "here");
    const isIdle = () => counts().started === counts().ended && server.stats().running === 0;
    const holdings = async () => {
      await quiet();
      await until("the server is idle", isIdle);
      return { stats: { ...server.stats() }, resources: (await takeCensus()).resources };
    };
    const before = await holdings();
    for (const isOnItsWay of [false, true]) {
      for (let made = 0; made < CALLS; made += AT_ONCE) {
        const abort = new AbortController();
        const calls = Array.from({ length: AT_ONCE }, () => client.callTool("wait", {}, { signal: abort.signal }));
        const settled = Promise.allSettled(calls);
        if (isOnItsWay) await turn();
        abort.abort("enough");
        assertGivenUp(await settled);
        equal(client.pending, 0);
        await until("the server is idle", isIdle);
      }
      // A channel takes the frame at once; a request that was not begun when it was given up never is.
      const isHttp = world.transport === "node" || world.transport === "fetch";
      if (!isOnItsWay) equal(counts().started, isHttp ? 0 : CALLS);
      deepEqual(await holdings(), before);
    }
    equal((await client.callTool("echo")).text, "here");
  },
);
