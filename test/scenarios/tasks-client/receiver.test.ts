import { deepEqual, equal, rejects } from "node:assert/strict";
import type { ProtocolVersion } from "bowline/client";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { type TasksClientOptions, tasksClient } from "bowline/tasks/client";
import { createChannelPair, type RecordedMessage } from "bowline/testing";
import { createPipePair } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import type { TestContext } from "../../support/raw-peer.js";
import { ServerScript } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

type Body = Record<string, unknown>;

const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
const sampled = { role: "assistant", content: { type: "text", text: "Ho" }, model: "m" } as const;

/** Server that asks a client questions as tasks. */
class TaskAsker extends ServerScript {
  readonly clock = new FakeClock();
  #ids = 0;

  async open(
    t: TestContext,
    options: ClientOptions,
    more: TasksClientOptions = {},
    version = "2025-11-25",
  ): Promise<Client> {
    this.legacy(version);
    const extensions = [tasksClient({ receive: true, ...more })];
    const target = { channel: this.channel };
    const client = await connect(target, {
      era: "legacy",
      versions: [version as ProtocolVersion],
      clock: this.clock,
      extensions,
      ...options,
    });
    t.after(() => client.close());
    return client;
  }

  /** Sends a request and returns the response. */
  async ask(method: string, params: Body): Promise<RecordedMessage> {
    const id = `ask-${this.#ids++}`;
    this.send({ id, method, params });
    for (;;) {
      const response = await this.next(undefined);
      if (response.id === id) return response;
      this.#early.push(response);
    }
  }

  /** Sends a request, and reads its response later. */
  start(method: string, params: Body): string {
    const id = `ask-${this.#ids++}`;
    this.send({ id, method, params });
    return id;
  }

  async create(params: Body = { ...form, task: { ttl: 5000 } }, method = "elicitation/create"): Promise<Body> {
    const { result } = await this.ask(method, params);
    return (result?.task ?? {}) as Body;
  }

  async codeOf(method: string, params: Body): Promise<unknown> {
    return ((await this.ask(method, params)).error as { readonly code?: number } | undefined)?.code;
  }

  readonly #early: RecordedMessage[] = [];

  /** Returns responses that came before the awaited one. */
  get early(): readonly RecordedMessage[] {
    return this.#early;
  }
}

const askers = (["memory", "stdio"] as const).map((transport) => ({
  name: `legacy-${transport}`,
  open: () => new TaskAsker(transport === "memory" ? createChannelPair() : createPipePair()),
}));

verifies("tasks-2025:client:receiver", "serves questions as tasks", askers, async (asker, t) => {
  const answer = gate();
  await asker.open(t, {
    onElicit: async () => {
      await answer.opened;
      return { action: "accept", content: { name: "Ada" } };
    },
    onSample: () => sampled,
  });
  const requests = { elicitation: { create: {} }, sampling: { createMessage: {} } };
  const declared = asker.all("initialize")[0]?.params?.capabilities as Body | undefined;
  deepEqual(declared?.tasks, { list: {}, cancel: {}, requests });
  const { taskId, status, ttl } = await asker.create();
  deepEqual([typeof taskId, status, ttl], ["string", "working", 5000]);
  const task = async () => (await asker.ask("tasks/get", { taskId })).result;
  equal((await task())?.status, "working");
  asker.start("tasks/result", { taskId });
  equal((await task())?.status, "working");
  answer.open();
  const { result } = await asker.next(undefined);
  const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
  deepEqual(result, { action: "accept", content: { name: "Ada" }, _meta });
  equal((await task())?.status, "completed");
  const other = await asker.create({ messages: [], maxTokens: 5, task: {} }, "sampling/createMessage");
  deepEqual([other.ttl, (await asker.ask("tasks/result", { taskId: other.taskId })).result?.model], [3_600_000, "m"]);
  const listed = (await asker.ask("tasks/list", {})).result?.tasks as Body[];
  deepEqual(
    listed.map((one) => one.taskId),
    [taskId, other.taskId],
  );
});

verifies("tasks-2025:client:receiver", "cancels and fails", askers, async (asker, t) => {
  const signals: AbortSignal[] = [];
  const onElicit: ClientOptions["onElicit"] = ({ message }, { signal }) => {
    signals.push(signal);
    if (message === "fail") throw new Error("secret");
    return new Promise(() => {});
  };
  await asker.open(t, { onElicit });
  const { taskId } = await asker.create();
  const waiting = asker.start("tasks/result", { taskId });
  const [response, ended] = await Promise.all([
    asker.ask("tasks/cancel", { taskId }),
    aborted(signals[0] as AbortSignal),
  ]);
  equal(response.result?.status, "cancelled");
  equal(ended instanceof Error, true);
  const refused = asker.early.find(({ id }) => id === waiting) ?? (await asker.next(undefined));
  equal((refused.error as { readonly code?: number } | undefined)?.code, -32602);
  equal(await asker.codeOf("tasks/cancel", { taskId }), -32602);
  equal(await asker.codeOf("tasks/get", { taskId: "other" }), -32602);
  const failing = await asker.create({ ...form, message: "fail", task: {} });
  const { error } = await asker.ask("tasks/result", { taskId: failing.taskId });
  deepEqual(error, { code: -32603, message: "Internal error" });
  equal((await asker.ask("tasks/get", { taskId: failing.taskId })).result?.status, "failed");
});

verifies("tasks-2025:client:receiver", "is bounded in number and age", askers, async (asker, t) => {
  const signals: AbortSignal[] = [];
  const onElicit: ClientOptions["onElicit"] = ({ message }, { signal }) => {
    signals.push(signal);
    return message === "now" ? { action: "decline" } : new Promise(() => {});
  };
  const client = await asker.open(t, { onElicit }, { limits: { maxReceived: 2, maxReceivedMs: 9000 } });
  const first = await asker.create({ ...form, message: "now", task: { ttl: 1e12 } });
  equal(first.ttl, 9000);
  await asker.create();
  const third = await asker.create();
  equal(await asker.codeOf("tasks/get", { taskId: first.taskId }), -32602);
  equal(await asker.codeOf("elicitation/create", { ...form, task: {} }), -32005);
  asker.clock.advance(5000);
  equal(await asker.codeOf("tasks/get", { taskId: third.taskId }), -32602);
  deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true, true],
  );
  const last = await asker.create();
  equal(last.status, "working");
  await client.close();
  equal(signals.at(-1)?.aborted, true);
  equal(asker.clock.pending, 0);
});

verifies("tasks-2025:client:receiver", "is off by default, and before 2025-11-25", askers, async (asker, t) => {
  const onElicit = () => ({ action: "decline" }) as const;
  await asker.open(t, { onElicit }, { receive: false });
  equal((asker.all("initialize")[0]?.params?.capabilities as Body | undefined)?.tasks, undefined);
  deepEqual((await asker.ask("elicitation/create", { ...form, task: {} })).result, { action: "decline" });
  equal(await asker.codeOf("tasks/list", {}), -32601);
  const older = new TaskAsker();
  await older.open(t, { onElicit }, {}, "2025-06-18");
  equal((older.all("initialize")[0]?.params?.capabilities as Body | undefined)?.tasks, undefined);
  await rejects(async () => tasksClient({ receive: 1 as never }), { code: "definition_error" });
});
