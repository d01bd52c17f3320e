import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { MeterProvider } from "@opentelemetry/api";
import { connect } from "bowline/client";
import { traceClient, traceServer } from "bowline/otel";
import { McpServer } from "bowline/server";

test("a duration is the time from the request to its result, in seconds", async (t) => {
  let now = 5_000;
  t.mock.method(performance, "now", () => now);
  const measured: [name: string, seconds: number, method: unknown][] = [];
  const meterProvider = {
    getMeter: () => ({
      createHistogram: (name: string) => ({
        record: (seconds: number, attributes: Record<string, unknown>) =>
          void measured.push([name, seconds, attributes["mcp.method.name"]]),
      }),
    }),
  } as unknown as MeterProvider;
  const server = new McpServer({ name: "s", version: "1" }).use(traceServer({ meterProvider })).tool("slow", {}, () => {
    now += 2_000;
    return "done";
  });
  const client = await connect(server, { interceptors: [traceClient({ meterProvider })] });
  t.after(() => client.close());
  measured.length = 0;
  equal((await client.callTool("slow")).text, "done");
  deepEqual(measured, [
    ["mcp.server.operation.duration", 2, "tools/call"],
    ["mcp.client.operation.duration", 2, "tools/call"],
  ]);
});
