import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { PassThrough } from "node:stream";
import { ConnectionError, connect } from "bowline/client";
import { createStdioClientChannel, createStdioServerChannel } from "bowline/node";
import { type Channel, type ChannelEvents, McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { ChannelLog } from "../../support/channel-log.js";
import { channelWires, eachWire } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { child, held, Lines, NEVER } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

interface Subject {
  readonly channel: Channel;
  /** What has reached the other side. */
  received(): Promise<string[]> | string[];
}

/** Each kind of channel that the package has, unopened. */
const kinds: Record<string, () => Subject> = {
  memory: () => {
    const [channel, other] = createChannelPair();
    const log = new ChannelLog();
    void other.open(log);
    return { channel, received: () => log.frames };
  },
  "stdio server": () => {
    const output = new PassThrough();
    const channel = createStdioServerChannel({ input: new PassThrough(), output });
    return { channel, received: () => lines(String(output.read() ?? "")) };
  },
  "stdio client": () => {
    const told = new Lines();
    const channel = createStdioClientChannel({ ...child("recorder", "silent"), stderr: told.take, shutdown: NEVER });
    return { channel, received: () => told.all.filter((line) => line.startsWith("> ")) };
  },
};

const lines = (text: string) => text.split("\n").filter((line) => line !== "");
const sending = async (channel: Channel, text: string) => channel.send(text);

for (const [kind, create] of Object.entries(kinds)) {
  proves("transport:start:once", {}, `${kind}: a second start fails, and the first goes on`, async () => {
    const { channel, received } = create();
    const log = await ChannelLog.open(channel);
    await rejects(async () => channel.open(new ChannelLog()), { code: "already_open" });
    await sending(channel, '{"id":1}');
    await channel.close();
    equal((await received()).length, 1);
    equal(log.closes.length, 1);
  });

  proves("transport:send-after-close", {}, `${kind}: nothing is sent before the start or after the end`, async () => {
    const { channel, received } = create();
    await rejects(sending(channel, '{"id":1}'), (error) => error instanceof ConnectionError);
    await ChannelLog.open(channel);
    await channel.close();
    await rejects(sending(channel, '{"id":2}'), (error) => {
      ok(error instanceof ConnectionError);
      equal(error.delivery, "not_sent");
      return true;
    });
    deepEqual(await received(), []);
  });

  proves("transport:close:idempotent", {}, `${kind}: closing is told once, however often it is asked for`, async () => {
    const before = await held();
    const { channel } = create();
    let closes = 0;
    await channel.open({
      onFrame() {},
      onProblem() {},
      onClose() {
        closes++;
        void channel.close();
      },
    });
    await Promise.all([channel.close(), channel.close(), channel.close()]);
    await channel.close();
    equal(closes, 1);
    deepEqual(await held(), before);
  });
}

verifies("transport:close:idempotent", "a client's own", eachWire, async ({ connect: dial }) => {
  let closes = 0;
  const client = await dial(new McpServer(me), {
    onClose: () => {
      closes++;
      void client.close();
    },
  });
  await Promise.all([client.close(), client.close(), client.close()]);
  await client.close();
  equal(closes, 1);
  await rejects(client.callTool("any"), { name: "ConnectionError", delivery: "not_sent" });
});

/** Frames moved by hand, with callbacks that anyone may take hold of. */
class HandMade implements Channel {
  events: ChannelEvents | undefined;
  readonly sent: string[] = [];
  readonly #inner: Channel;

  constructor(inner: Channel) {
    this.#inner = inner;
  }

  async open(events: ChannelEvents): Promise<void> {
    this.events = events;
    await this.#inner.open({
      onFrame: (text) => this.events?.onFrame(text),
      onProblem: (problem) => this.events?.onProblem(problem),
      onClose: (reason) => this.events?.onClose(reason),
    });
  }

  send(text: string): void | Promise<void> {
    this.sent.push(text);
    return this.#inner.send(text);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

verifies(["transport:custom:client-connect", "transport:custom:preserves-model"], channelWires, async (world, t) => {
  const server = new McpServer(me).tool("hi", {}, (_args, ctx) => `hi ${ctx.client.info?.name}`);
  const channel = new HandMade(await world.channel(server));
  const client = await connect({ channel }, { era: world.era, info: { name: "custom", version: "1.0.0" } });
  t.after(() => client.close());
  equal((await client.callTool("hi")).text, "hi custom");
  await client.close();
  const messages = channel.sent.map((text) => JSON.parse(text) as { method: string; params: { _meta: object } });
  if (world.era === "legacy") {
    deepEqual(
      messages.map(({ method }) => method),
      ["initialize", "notifications/initialized", "tools/call"],
    );
    return;
  }
  deepEqual(
    messages.map(({ method }) => method),
    ["server/discover", "tools/call"],
  );
  for (const { params } of messages) {
    deepEqual(Object.keys(params._meta).sort(), [
      "io.modelcontextprotocol/clientCapabilities",
      "io.modelcontextprotocol/clientInfo",
      "io.modelcontextprotocol/protocolVersion",
    ]);
  }
});

verifies("protocol:transport-callbacks:wrappable-after-connect", channelWires, async (world, t) => {
  const server = new McpServer(me).tool("hi", {}, () => "hi");
  const channel = new HandMade(await world.channel(server));
  const closes: unknown[] = [];
  const errors: Error[] = [];
  const client = await connect(
    { channel },
    { era: world.era, onClose: (reason) => void closes.push(reason), onError: (error) => void errors.push(error) },
  );
  t.after(() => client.close());
  const previous = channel.events as ChannelEvents;
  const seen: unknown[] = [];
  channel.events = {
    onFrame: (text) => {
      seen.push((JSON.parse(text) as { id: unknown }).id);
      previous.onFrame(text);
    },
    onProblem: (problem) => {
      seen.push(problem);
      previous.onProblem(problem);
    },
    onClose: (reason) => {
      seen.push("closed");
      previous.onClose(reason);
    },
  };
  equal((await client.callTool("hi", {}, { id: "mine" })).text, "hi");
  const problem = new Error("a problem of the channel's");
  channel.events.onProblem(problem);
  await client.close();
  deepEqual(seen, ["mine", problem, "closed"]);
  deepEqual([errors, closes], [[problem], [undefined]]);
});

verifies("transport:standalone:raw-relay", channelWires, async (world, t) => {
  const server = new McpServer(me).tool("hi", {}, () => "hi");
  const towards = await world.channel(server);
  const [near, far] = createChannelPair();
  const forwarded: string[] = [];
  const join = (from: Channel, to: Channel) =>
    from.open({
      onFrame: (text) => {
        forwarded.push(text);
        void to.send(text);
      },
      onProblem() {},
      onClose: () => void to.close(),
    });
  await Promise.all([join(towards, far), join(far, towards)]);
  const channel = new HandMade(near);
  const client = await connect({ channel }, { era: world.era });
  t.after(() => client.close());
  equal((await client.callTool("hi", {}, { meta: { "example.org/unknown": { kept: [1, null] } } })).text, "hi");
  for (const text of channel.sent) ok(forwarded.includes(text));
  ok(forwarded.some((text) => text.includes('"example.org/unknown":{"kept":[1,null]}')));
  await client.close();
  await rejects(async () => towards.send("{}"), { name: "ConnectionError" });
});

proves("transport:standalone:raw-relay", { wire: "stdio" }, "a process behind a relay", async (t) => {
  const process = createStdioClientChannel({ ...child("mcp-server"), stderr: "ignore", shutdown: NEVER });
  const [near, far] = createChannelPair();
  const pass = (to: Channel): ChannelEvents => ({
    onFrame: (text) => void to.send(text),
    onProblem() {},
    onClose: () => void to.close(),
  });
  await process.open(pass(far));
  await far.open(pass(process));
  const client = await connect({ channel: near }, { era: "modern" });
  t.after(() => client.close());
  equal((await client.callTool("add", { a: 1, b: 2 })).text, "3");
  await client.close();
  await process.close();
});

verifies("transport:internal-markers-not-serialised", eachWire, async ({ connect: dial }) => {
  const started = gate();
  const stopped = gate();
  const server = new McpServer(me, { http: { resumable: true } })
    .tool("wait", {}, async (_args, ctx) => {
      started.open();
      await aborted(ctx.signal);
      stopped.open();
      return "too late";
    })
    .tool("hi", {}, () => "hi");
  const client = await dial(server);
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { signal: abort.signal });
  await started.opened;
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  await stopped.opened;
  await client.callTool("hi");
  for (const { message, text } of client.wire.frames) {
    if (text === "") continue;
    ok(message, `not a message: ${text}`);
    equal(message.jsonrpc, "2.0");
    const shapes = [message.method !== undefined, message.result !== undefined, message.error !== undefined];
    equal(shapes.filter(Boolean).length, 1, text);
  }
  equal(client.wire.responsesTo("tools/call").length, 1);
});
