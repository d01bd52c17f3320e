import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { ProtocolError } from "#src/protocol/errors.js";
import { stdioWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { callOf, RawEnd, resultOf, speaking, type TestContext } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** A server behind raw bytes, with a tool that says what it is given, and all that it reports. */
async function serve({ era }: World, t: TestContext, options: { readonly maxLineBytes?: number } = {}) {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const server = new McpServer(me, { onError }).tool("say", { input: z.object({ text: z.string() }) }, (a) => a.text);
  const raw = new RawEnd(options);
  const connection = await server.accept(raw.near);
  t.after(() => server.close());
  await raw.greetServer(era);
  /** Calls the tool, written by whatever means, and gives what it says. */
  const say = (id: number, text: string) => callOf(era, id, "say", { text });
  const said = async (id: number) => {
    const { result } = await raw.until((message) => message.id === id);
    return (result!.content as { text: string }[])[0]?.text;
  };
  return { raw, errors, connection, say, said };
}

/** A client in front of raw bytes, and all that it reports. */
async function dial({ era }: World, t: TestContext, options: { readonly maxLineBytes?: number } = {}) {
  const errors: Error[] = [];
  const closes: (Error | undefined)[] = [];
  const events: string[] = [];
  const raw = new RawEnd(options);
  const [client] = await Promise.all([
    connect(
      { channel: raw.near },
      {
        ...speaking(era),
        onError: (error) => {
          errors.push(error);
          events.push("error");
        },
        onClose: (reason) => {
          closes.push(reason);
          events.push("close");
        },
      },
    ),
    raw.greetClient(era),
  ]);
  t.after(() => client.close());
  /** A call, and the id under which the server got it. */
  const call = async () => {
    const answer = client.callTool("any");
    answer.catch(() => {});
    const { id } = await raw.until(({ method }) => method === "tools/call");
    return { id, answer };
  };
  return { raw, client, errors, closes, events, call };
}

const text = async (answer: Promise<{ readonly text: string }>) => (await answer).text;
const line = (message: object) => JSON.stringify(message);

verifies("transport:stdio:framing:chunk-boundaries", stdioWires, async (world, t) => {
  const { raw, say } = await serve(world, t);
  const before = raw.messages.length;
  const whole = Buffer.from([1, 2, 3, 4, 5].map((id) => `${line(say(id, `é猫🦊 ${id}`))}\n`).join(""));
  for (let cut = 0; cut <= whole.length; cut++) {
    raw.write(whole.subarray(0, cut));
    await new Promise(setImmediate);
    raw.write(whole.subarray(cut));
    for (let id = 1; id <= 5; id++) await raw.next();
  }
  const answers = raw.messages.slice(before);
  const fives = Array.from({ length: whole.length + 1 }, (_, cut) => answers.slice(cut * 5, cut * 5 + 5));
  ok(fives.every((five) => line(five) === line(fives[0] ?? [])));
  deepEqual(
    fives[0]?.map(({ id, result }) => [id, (result!.content as { text: string }[])[0]?.text]),
    [1, 2, 3, 4, 5].map((id) => [id, `é猫🦊 ${id}`]),
  );
});

verifies("transport:message:utf8", stdioWires, async (world, t) => {
  const words = "é ß 猫 … 🦊 👩‍👩‍👧 \u{10ffff}";
  const server = await serve(world, t);
  const request = Buffer.from(`${line(server.say(1, words))}\n`);
  for (const byte of request) server.raw.write(Uint8Array.of(byte));
  equal(await server.said(1), words);
  ok(server.raw.written.includes(Buffer.from("🦊", "utf8")));
  const { raw, call } = await dial(world, t);
  const { id, answer } = await call();
  for (const byte of Buffer.from(`${line(resultOf(world.era, id, words))}\n`)) raw.write(Uint8Array.of(byte));
  equal(await text(answer), words);
});

verifies("transport:stdio:framing:newline-only", stdioWires, async (world, t) => {
  const words = "a\u2028b\u2029c\u0085d\u{c}e";
  const server = await serve(world, t);
  const unescaped = (message: object) => line(message).replace("\\f", "\f");
  // A form feed may not stand in JSON as it is: the line is one line all the same, and no JSON.
  server.raw.write(`${unescaped(server.say(1, words))}\n`, server.say(2, words.replace("\f", "")));
  equal(await server.said(2), words.replace("\f", ""));
  equal(server.errors.length, 1);
  server.raw.write(`${line(server.say(3, "x")).replace('{"jsonrpc"', '{\r"jsonrpc"')}\n`);
  equal(await server.said(3), "x");
  const { raw, call } = await dial(world, t);
  const { id, answer } = await call();
  raw.write(resultOf(world.era, id, "a\u2028b\u2029c\u0085d"));
  equal(await text(answer), "a\u2028b\u2029c\u0085d");
});

verifies(
  ["transport:stdio:framing:crlf", "transport:stdio:framing:blank-lines", "transport:stdio:framing:bom"],
  stdioWires,
  async (world, t) => {
    const errors: unknown[] = [];
    const server = new McpServer(me, { onError: (error) => void errors.push(error) }).tool("hi", {}, () => "hi");
    const raw = new RawEnd();
    await server.accept(raw.near);
    t.after(() => server.close());
    raw.write(Uint8Array.of(0xef, 0xbb, 0xbf));
    await raw.greetServer(world.era);
    const hi = (id: number) => line(callOf(world.era, id, "hi"));
    raw.write(`${hi(1)}\r\n`, "\n \t \r\n\r\n", `   ${hi(2)}\t \n`);
    await raw.until(({ id }) => id === 1);
    await raw.until(({ id }) => id === 2);
    deepEqual(errors, []);
    equal(raw.written[0], "{".charCodeAt(0));
    ok(!raw.written.includes(Buffer.from("\r")));

    const client = await dial(world, t);
    const { id, answer } = await client.call();
    client.raw.write("\n\r\n  \n", `  ${line(resultOf(world.era, id, "hello"))} \r\n`);
    equal(await text(answer), "hello");
    deepEqual(client.errors, []);
    equal(client.raw.written[0], "{".charCodeAt(0));
    ok(!client.raw.written.includes(Buffer.from("\r")));
  },
);

proves("transport:stdio:framing:bom", { wire: "modern-stdio" }, "a client ignores the mark too", async (t) => {
  const raw = new RawEnd();
  const client = await connect({ channel: raw.near }, speaking("modern"));
  t.after(() => client.close());
  const answer = client.callTool("any");
  const { id } = await raw.next();
  raw.write(Uint8Array.of(0xef, 0xbb, 0xbf), resultOf("modern", id, "marked"));
  equal(await text(answer), "marked");
});

verifies("transport:stdio:framing:non-json-line", stdioWires, async (world, t) => {
  const noise = ["Server started on port 3000", "}{", '{"jsonrpc":"2.0","id":9,"method":"tools/call","par'];
  const server = await serve(world, t);
  const before = server.raw.messages.length;
  for (const [index, bad] of noise.entries()) server.raw.write(server.say(index, `${index}`), `${bad}\n`);
  server.raw.write(server.say(3, "last"));
  equal(await server.said(3), "last");
  deepEqual(
    server.raw.messages.slice(before).map(({ id }) => id),
    [0, 1, 2, 3],
  );
  equal(server.errors.length, noise.length);

  const { raw, errors, call } = await dial(world, t);
  const { id, answer } = await call();
  const written = raw.written.length;
  for (const bad of noise) raw.write(`${bad}\n`);
  raw.write(resultOf(world.era, id, "after the noise"));
  equal(await text(answer), "after the noise");
  equal(errors.length, noise.length);
  equal(raw.written.length, written);
});

verifies("transport:stdio:framing:invalid-message", stdioWires, async (world, t) => {
  const { raw, errors, say, said } = await serve(world, t);
  const before = raw.messages.length;
  const invalid = ["7", "null", '{"method":"tools/list"}', '{"jsonrpc":"2.0","id":null,"method":"ping"}'];
  raw.write(...invalid.map((bad) => `${bad}\n`), { jsonrpc: "2.0", id: 7, method: 7 }, say(8, "fine"));
  equal(await said(8), "fine");
  const answers = raw.messages.slice(before);
  deepEqual(
    answers.map(({ id, error }) => [id, error?.code]),
    [
      [7, -32600],
      [8, undefined],
    ],
  );
  equal(errors.length, 5);
});

verifies("transport:stdio:framing:invalid-utf8", stdioWires, async (world, t) => {
  const { raw, errors, say, said, connection } = await serve(world, t);
  raw.write(say(1, "before"), Uint8Array.of(0xff, 0xfe, 0x0a), say(2, "after"));
  deepEqual([await said(1), await said(2)], ["before", "after"]);
  raw.write(Uint8Array.of(0xff, 0xfe));
  raw.end();
  await connection.closed;
  equal(errors.length, 2);

  const client = await dial(world, t);
  const { id, answer } = await client.call();
  client.raw.write(Uint8Array.of(0xff, 0xfe, 0x0a), resultOf(world.era, id, "fine"));
  equal(await text(answer), "fine");
  client.raw.write(Uint8Array.of(0xff, 0xfe));
  client.raw.end();
  await client.client.close();
  deepEqual(client.closes, [undefined]);
});

verifies("transport:stdio:framing:max-line", stdioWires, async (world, t) => {
  const maxLineBytes = 2000;
  const exactly = (message: (pad: string) => object) => message("x".repeat(maxLineBytes - line(message("")).length));
  const server = await serve(world, t, { maxLineBytes });
  server.raw.write(exactly((pad) => server.say(1, pad)));
  ok(((await server.said(1)) ?? "").length > 1000);
  server.raw.write("x".repeat(maxLineBytes + 10));
  await server.connection.closed;
  ok(server.errors[0] instanceof ProtocolError);

  const { raw, errors, closes, events, call } = await dial(world, t, { maxLineBytes });
  const first = await call();
  raw.write(exactly((pad) => resultOf(world.era, first.id, pad)));
  await first.answer;
  const { answer } = await call();
  for (let kilobyte = 0; kilobyte < 4; kilobyte++) raw.write("x".repeat(1000));
  await rejects(answer, { name: "ConnectionError", message: /longer than the limit of 2000 bytes/ });
  ok(errors[0] instanceof ProtocolError);
  match(String(closes[0]?.message), /limit/);
  deepEqual(events, ["error", "close"]);
});

verifies("transport:stdio:framing:partial-at-eof", stdioWires, async (world, t) => {
  const { raw, errors, call } = await dial(world, t);
  const { id, answer } = await call();
  const whole = line(resultOf(world.era, id, "cut off"));
  raw.write(whole);
  raw.end();
  await rejects(answer, { name: "ConnectionError", delivery: "sent" });
  deepEqual(
    errors.map(({ message }) => message),
    [`The input ended in the middle of a line; its ${Buffer.byteLength(whole)} bytes were dropped`],
  );
});

verifies("transport:stdio:no-embedded-newlines", stdioWires, async (world, t) => {
  const words = "a\nb\rc\r\nd\u2028e\u2029f";
  const server = await serve(world, t);
  const before = server.raw.messages.length;
  server.raw.write(server.say(1, words));
  equal(await server.said(1), words);
  equal(server.raw.messages.length, before + 1);

  const { raw, client } = await dial(world, t);
  const greeting = raw.messages.length;
  const answer = client.callTool("any", { words });
  const sent = await raw.until(({ method }) => method === "tools/call");
  deepEqual(sent.params?.arguments, { words });
  equal(raw.written.toString().split("\n").length - 1, greeting + 1);
  raw.write(resultOf(world.era, sent.id, words));
  equal(await text(answer), words);
});

verifies("transport:ordering:notification-before-response", stdioWires, async (world, t) => {
  for (const timeoutMs of [undefined, 60_000]) {
    const { raw, client } = await dial(world, t);
    const log: unknown[] = [];
    const answer = client
      .callTool("any", {}, { onProgress: ({ progress }) => log.push(progress), timeoutMs })
      .then((outcome) => log.push(outcome.text));
    const { id, params } = await raw.until(({ method }) => method === "tools/call");
    const { progressToken } = params!._meta as { progressToken: unknown };
    const progress = (value: number) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken, progress: value },
    });
    raw.write(progress(1), progress(2), resultOf(world.era, id, "done"));
    await answer;
    deepEqual(log, [1, 2, "done"]);
  }
});

proves(
  "transport:stdio:batch-receive",
  { wire: "legacy-stdio" },
  "a batch is taken apart at 2025-03-26, and refused from 2025-06-18 on",
  async (t) => {
    for (const version of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
      const noticed = gate<unknown>();
      let ran = 0;
      const server = new McpServer(me)
        .tool("hi", {}, () => {
          ran++;
          return "hi";
        })
        .onNotification("notifications/mine", {}, () => noticed.open(version));
      const raw = new RawEnd();
      await server.accept(raw.near);
      t.after(() => server.close());
      await raw.greetServer("legacy", version);
      const before = raw.messages.length;
      const batch = [
        callOf("legacy", 1, "hi"),
        { jsonrpc: "2.0", method: "notifications/mine" },
        callOf("legacy", 2, "hi"),
      ];
      raw.write(batch, callOf("legacy", 3, "hi"));
      await raw.until(({ id }) => id === 3);
      const answers = raw.messages.slice(before);
      if (version === "2025-03-26") {
        deepEqual(
          answers.map(({ id, result }) => [id, result?.content]),
          [1, 2, 3].map((id) => [id, [{ type: "text", text: "hi" }]]),
        );
        equal(await noticed.opened, version);
      } else {
        equal(ran, 1);
        deepEqual([answers[0]?.error?.code, "id" in (answers[0] ?? {})], [-32600, false]);
        equal(answers.length, 2);
      }
    }
  },
);
