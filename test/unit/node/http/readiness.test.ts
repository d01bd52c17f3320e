import { deepEqual } from "node:assert/strict";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { createMemoryState } from "bowline/testing";
import { askPort } from "../../../support/plain-http.js";
import { proves } from "../../../support/verifies.js";

proves(
  "cluster:engine-away:readiness",
  {},
  "a server without the state of its cluster is degraded but ready, once it has had it",
  async (t) => {
    const state = createMemoryState();
    const cluster = state.node();
    const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];
    state.cut(cluster);
    const server = new McpServer({ name: "s", version: "1" }, { cluster, stateKeys, onError: () => {} });
    const running = await serveHttp(server);
    t.after(async () => {
      await running.close();
      await cluster.close();
    });
    const ready = async () => {
      const { status, text } = await askPort(running.port, { method: "GET", path: "/readyz" });
      return [status, text];
    };
    deepEqual(await ready(), [503, "starting"]);
    state.mend(cluster);
    deepEqual(await ready(), [200, "ok"]);
    state.cut(cluster);
    deepEqual(await ready(), [200, "degraded"]);
    state.mend(cluster);
    deepEqual(await ready(), [200, "ok"]);
  },
);
