import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { metrics } from "@opentelemetry/api";
import { type HistogramMetricData, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { connect } from "bowline/client";
import { traceClient, traceServer } from "bowline/otel";
import { McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}

  /** Name and attributes of each series, with how many requests it counts. */
  async series(): Promise<Map<string, number>> {
    const { resourceMetrics } = await this.collect();
    const found = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics) as HistogramMetricData[];
    return new Map(
      found.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes: { "mcp.protocol.version": _, ...own }, value }) => {
          equal(descriptor.unit, "s");
          equal(value.buckets.boundaries.at(-1), 300);
          return [[descriptor.name, ...Object.values(own)].join(" "), value.count] as const;
        }),
      ),
    );
  }
}

async function connected() {
  const [ours, theirs] = createChannelPair();
  const server = new McpServer({ name: "counted", version: "1.0.0" })
    .use(traceServer())
    .tool("greet", {}, () => "hello")
    .tool("fail", {}, () => {
      throw new Error("no");
    });
  await server.accept(theirs);
  return connect({ channel: ours }, { interceptors: [traceClient()] });
}

test("the durations of requests are measured on both sides, by few attributes", async (t) => {
  const client = await connected();
  await client.callTool("greet");

  const reader = new Reader();
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  t.after(() => metrics.disable());
  await client.callTool("greet");
  await client.callTool("greet");
  await client.callTool("fail");
  for (const name of ["made-up-1", "made-up-2"]) {
    await rejects(client.callTool(name), { rpcCode: -32602 });
    await rejects(client.request(`vendor/${name}`), { rpcCode: -32601 });
  }
  await client.close();

  const series = await reader.series();
  const of = (side: string) =>
    Object.fromEntries([...series].filter(([key]) => key.startsWith(`mcp.${side}.operation.duration tools`)));
  deepEqual(of("client"), {
    "mcp.client.operation.duration tools/call execute_tool greet": 2,
    "mcp.client.operation.duration tools/call execute_tool fail tool_error": 1,
    "mcp.client.operation.duration tools/call -32602 -32602": 2,
  });
  deepEqual(of("server"), {
    "mcp.server.operation.duration tools/call pipe execute_tool greet": 2,
    "mcp.server.operation.duration tools/call pipe execute_tool fail tool_error": 1,
    "mcp.server.operation.duration tools/call pipe -32602 -32602": 2,
  });
  equal(series.get("mcp.server.operation.duration _OTHER pipe -32601 -32601"), 2);
});

test("without a provider the interceptors hand the call on as it is", async () => {
  const result = Promise.resolve({});
  const call = { method: "tools/call", params: { name: "greet" }, options: {} };
  equal(
    traceClient()(call, (passed) => {
      equal(passed, call);
      return result;
    }),
    result,
  );
});
