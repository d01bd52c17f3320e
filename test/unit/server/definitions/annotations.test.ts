import { deepEqual, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { connect } from "bowline/client";
import { McpServer, type ToolAnnotations } from "bowline/server";

const define = (annotations: object) => () =>
  new McpServer({ name: "a", version: "1" }).tool("t", { annotations }, () => "");

describe("annotations of a tool", () => {
  it("of another server are passed on with members that this version does not have", async () => {
    const later = { readOnlyHint: true, costHint: 3, "com.example/owner": { team: "a" } };
    const origin = new McpServer({ name: "origin", version: "1" }).tool("t", { annotations: later }, () => "done");
    await using upstream = await connect(origin);
    const proxy = new McpServer({ name: "proxy", version: "1" });
    for await (const { name, annotations = {} } of upstream.tools())
      proxy.tool(name, { annotations }, () => upstream.callTool(name));
    await using client = await connect(proxy);
    const { tools } = await client.listTools();
    deepEqual(tools[0]?.annotations, later);
  });

  it("are refused where a member is misspelt or has another type", () => {
    for (const [name, meant] of [
      ["readonlyHint", "readOnlyHint"],
      ["readOnly", "readOnlyHint"],
      ["destructive", "destructiveHint"],
      ["idempotentHnt", "idempotentHint"],
      ["openWorld", "openWorldHint"],
    ] as const)
      throws(define({ [name]: true }), {
        name: "DefinitionError",
        message: `tool "t": annotations: unknown option ${name}; did you mean ${meant}?`,
      });
    throws(define({ readOnlyHint: "yes" }), {
      name: "DefinitionError",
      message: 'tool "t": annotations.readOnlyHint must be of type boolean, got string',
    });
    throws(define([]), { message: 'tool "t": annotations must be of type object, got array' });
    // @ts-expect-error the type has no such member
    const refused: ToolAnnotations = { costHint: 3 };
    define(refused)();
  });
});
