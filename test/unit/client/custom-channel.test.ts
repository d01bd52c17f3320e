import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type Channel, connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { gate } from "../../support/gate.js";

/** A channel as somebody without types may write it: `send` returns what a stream's `write` does, or anything else. */
function returning(inner: Channel, returned: unknown): Channel {
  return {
    open: (events) => inner.open(events),
    send: (text) => {
      void inner.send(text);
      return returned as undefined;
    },
    close: () => inner.close(),
  };
}

for (const [what, returned] of [
  ["true", true],
  ["false, as a full stream does", false],
  ["a number", 7],
  ["null", null],
  // biome-ignore lint/suspicious/noThenProperty: a promise of another library
  ["a promise of another kind", { then: (resolve: () => void) => resolve() }],
] as const) {
  test(`a frame that was sent counts as sent where send returns ${what}`, async (t) => {
    for (const era of ["modern", "legacy"] as const) {
      const [ours, theirs] = createChannelPair();
      const reports: unknown[] = [];
      const server = new McpServer({ name: "s", version: "1" }, { onError: (error) => reports.push(error) });
      server.tool("greet", {}, async (_, ctx) => {
        await ctx.progress(1);
        return "hello";
      });
      t.after(() => server.close());
      await server.accept(returning(theirs, returned));
      const options = { era, onError: (error: Error) => reports.push(error) };
      const client = await connect({ channel: returning(ours, returned) }, options);
      t.after(() => client.close());
      equal((await client.callTool("greet", {}, { onProgress: () => {} })).text, "hello");
      deepEqual(reports, []);
    }
  });
}

test("a promise of another kind that rejects fails the call", async () => {
  const [inner] = createChannelPair();
  const closed = gate();
  const channel: Channel = {
    open: (events) => inner.open(events),
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library
    send: () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error("full")) }) as Promise<void>,
    close: async () => closed.open(),
  };
  await rejects(connect({ channel }), { name: "ConnectionError", message: /could not be written: full/ });
  await closed.opened;
});

test("a client quotes what a server writes beside its messages, on one line and cut", async (t) => {
  const errors: string[] = [];
  let write: (text: string) => void = () => {};
  const channel: Channel = {
    open({ onFrame }) {
      write = onFrame;
    },
    send() {},
    close: async () => {},
  };
  const onError = (error: Error) => void errors.push(error.message);
  const client = await connect({ channel }, { versions: ["2026-07-28"], onError });
  t.after(() => client.close());
  write("listening on\u001b[31m 3000");
  write('{"level":"info","msg":"ready"}');
  write("x".repeat(1000));
  const advice = "; a stdio server must log to stderr";
  deepEqual(errors, [
    `Parse error: not JSON: "listening on [31m 3000"${advice}`,
    `Invalid request: jsonrpc must be "2.0": ${JSON.stringify('{"level":"info","msg":"ready"}')}${advice}`,
    `Parse error: not JSON: "${"x".repeat(200)}..."${advice}`,
  ]);
});
