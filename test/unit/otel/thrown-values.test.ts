import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { SpanStatusCode } from "@opentelemetry/api";
import { connect } from "bowline/client";
import { traceClient } from "bowline/otel";
import { McpServer } from "bowline/server";
import { registerTracing } from "../../support/tracing.js";

test("a value that is thrown and is no error fails the span without a type of its own", async (t) => {
  const { spans } = registerTracing(t);
  const client = await connect(new McpServer({ name: "s", version: "1" }), {
    interceptors: [traceClient(), () => Promise.reject("words")],
  });
  t.after(() => client.close());
  await rejects(client.request("vendor/any"), /^words$/);
  const [span] = spans("vendor/any");
  equal(span?.attributes["error.type"], "_OTHER");
  equal(span?.status.code, SpanStatusCode.ERROR);
});
