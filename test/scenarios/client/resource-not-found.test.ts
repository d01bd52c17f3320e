import { equal } from "node:assert/strict";
import { isResourceNotFound } from "bowline/client";
import { RawServer, rawError } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

for (const era of ["modern", "legacy"] as const) {
  proves(
    "client:resource-not-found:both-codes",
    { wire: `${era}-memory` },
    "either code, of a read alone",
    async (t) => {
      const uri = "r://1";
      let answer = rawError(-32002, "Resource not found");
      const raw = new RawServer({ era, handlers: { "resources/read": () => answer, "tools/call": () => answer } });
      const client = await raw.connect(t);
      const verdict = (call: Promise<unknown>) => call.then(() => undefined, isResourceNotFound);
      equal(await verdict(client.readResource(uri)), true);
      equal(await verdict(client.callTool("t")), false);
      answer = rawError(-32602, "Resource not found", { uri });
      equal(await verdict(client.readResource(uri)), true);
      equal(await verdict(client.callTool("t")), false);
      // As the official TypeScript SDK, version 1, words it.
      answer = rawError(-32602, `MCP error -32602: Resource ${uri} not found`);
      equal(await verdict(client.readResource(uri)), true);
      equal(await verdict(client.callTool("t")), false);
      answer = rawError(-32602, "Invalid params");
      equal(await verdict(client.readResource(uri)), false);
      answer = rawError(-32603, "Internal error", { uri });
      equal(await verdict(client.readResource(uri)), false);
    },
  );
}
