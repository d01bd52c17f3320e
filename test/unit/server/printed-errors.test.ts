import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Client, connect } from "bowline/client";
import { type JsonSchema, McpServer, ServerExtension, type ServerOptions } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { until } from "../../support/census.js";
import { FakeClock } from "../../support/fake-clock.js";
import { watchRejections } from "../../support/rejections.js";

/** Collects what is printed on the standard error. */
function listen(t: TestContext): string[] {
  const printed: string[] = [];
  t.mock.method(console, "error", (...texts: unknown[]) => void printed.push(texts.join(" ")));
  return printed;
}

const failing = (options: ServerOptions = {}) =>
  new McpServer({ name: "s", version: "1" }, options)
    .tool("forecast", {}, () => {
      throw new TypeError("no city", { cause: new RangeError("no map") });
    })
    .tool("map", {}, () => new Map([[1, 2]]))
    .tool("cold", {}, () => {
      throw { code: 5 };
    })
    .prompt("review", {}, () => {
      throw new Error("no \u001b[31mtext\nbowline: forged");
    })
    .resource("notes://{id}", { name: "note" }, async () => Promise.reject(new Error("no note")));

for (const era of ["modern", "legacy"] as const) {
  test(`${era}: without logger and onError, the error of a handler is printed with its name and stack`, async (t) => {
    const printed = listen(t);
    const client = await connect(failing(), { era });
    t.after(() => client.close());
    await client.callTool("forecast");
    await rejects(client.getPrompt("review"), { message: "Internal error" });
    await rejects(client.readResource("notes://1"), { message: "Internal error" });
    await rejects(client.callTool("map"), { message: "Internal error" });
    equal((await client.callTool("cold")).text, 'the tool threw a value that is not an Error: {"code":5}');
    equal(printed.length, 5);
    match(printed[0]!, /^bowline: tools\/call "forecast" failed: TypeError: no city\n +at /);
    match(printed[0]!, /\n +at .*printed-errors\.test[\s\S]*\n +caused by: RangeError: no map\n +at /);
    match(printed[1]!, /^bowline: prompts\/get "review" failed: Error: no \[31mtext\n {4}bowline: forged\n +at /);
    match(printed[2]!, /^bowline: resources\/read "notes:\/\/1" failed: Error: no note\n +at /);
    match(printed[3]!, /^bowline: tools\/call "map" failed: TypeError: Tool "map" returned a value that JSON cannot/);
    equal(printed[4], 'bowline: tools/call "cold" failed: the code threw a value that is not an Error: {"code":5}');
  });
}

/** Code of an author that fails, what a client does, and the beginning of the line. */
interface Failure {
  readonly server: (fail: () => never) => McpServer;
  readonly act: (client: Client) => Promise<unknown>;
  readonly line: string;
  readonly era?: "modern" | "legacy";
}

const bare = (options?: ServerOptions) => new McpServer({ name: "s", version: "1" }, options);
const text = { type: "string" };
const city: JsonSchema = { type: "object", properties: { city: text } };
const extension = () => new ServerExtension({ id: "acme.example/x", serverOnly: true });

const FAILURES: Readonly<Record<string, Failure>> = {
  "a prompt": {
    server: (fail) => bare().prompt("p", fail),
    act: (client) => client.getPrompt("p"),
    line: 'prompts/get "p" failed',
  },
  "a prompt that rejects": {
    server: (fail) => bare().prompt("p", async () => fail()),
    act: (client) => client.getPrompt("p"),
    line: 'prompts/get "p" failed',
  },
  "a resource": {
    server: (fail) => bare().resource("a://b", { name: "r" }, fail),
    act: (client) => client.readResource("a://b"),
    line: 'resources/read "a://b" failed',
  },
  "a resource template": {
    server: (fail) => bare().resource("a://{id}", { name: "r" }, fail),
    act: (client) => client.readResource("a://1"),
    line: 'resources/read "a://1" failed',
  },
  "the list of a resource template": {
    server: (fail) => bare().resource("a://{id}", { name: "r", list: fail }, () => ""),
    act: (client) => client.resources().all(),
    line: "resources/list failed",
  },
  "the list of a resource template that rejects": {
    server: (fail) => bare().resource("a://{id}", { name: "r", list: async () => fail() }, () => ""),
    act: (client) => client.resources().all(),
    line: "resources/list failed",
  },
  "the completion of a variable": {
    server: (fail) => bare().resource("a://{id}", { name: "r", complete: { id: fail } }, () => ""),
    act: (client) => client.complete({ type: "ref/resource", uri: "a://{id}" }, { name: "id", value: "" }),
    line: "completion/complete failed",
  },
  "the completion of an argument": {
    server: (fail) => bare().prompt("p", { arguments: city, complete: { city: async () => fail() } }, () => ""),
    act: (client) => client.complete({ type: "ref/prompt", name: "p" }, { name: "city", value: "" }),
    line: "completion/complete failed",
  },
  "visible of a tool in a listing": {
    server: (fail) => bare().tool("t", { visible: fail }, () => ""),
    act: (client) => client.listTools(),
    line: "tools/list failed",
  },
  "visible of a tool in a call": {
    server: (fail) => bare().tool("t", { visible: fail }, () => ""),
    act: (client) => client.callTool("t"),
    line: 'tools/call "t" failed',
  },
  "a method": {
    server: (fail) => bare().method("acme/do", fail),
    act: (client) => client.request("acme/do"),
    line: "acme/do failed",
  },
  "a notification": {
    server: (fail) => bare().onNotification("notifications/acme", fail),
    act: (client) => client.notify("notifications/acme"),
    line: "notifications/acme failed",
    era: "legacy",
  },
  "a notification without a handler of its own": {
    server: (fail) => bare().onNotification(async () => fail()),
    act: (client) => client.notify("notifications/acme"),
    line: "notifications/acme failed",
    era: "legacy",
  },
  "an interceptor": {
    server: (fail) =>
      bare()
        .tool("t", () => "")
        .use((call, next) => (call.method === "tools/call" ? fail() : next(call))),
    act: (client) => client.callTool("t"),
    line: 'tools/call "t" failed',
  },
  "a rate limit": {
    server: (fail) =>
      bare({ rateLimit: { burst: 1, refillMs: 1, key: ({ method }) => (method === "tools/call" ? fail() : "") } }).tool(
        "t",
        () => "",
      ),
    act: (client) => client.callTool("t"),
    line: "tools/call failed",
  },
  "a method of an extension": {
    server: (fail) => bare().extend(extension().method("acme/do", fail)),
    act: (client) => client.request("acme/do"),
    line: "acme/do failed",
  },
  "a notification of an extension": {
    server: (fail) => bare().extend(extension().onNotification("notifications/acme", fail)),
    act: (client) => client.notify("notifications/acme"),
    line: "notifications/acme failed",
    era: "legacy",
  },
  "a resource of an extension": {
    server: (fail) => bare().extend(extension().resource("a://b", { name: "r" }, fail)),
    act: (client) => client.readResource("a://b"),
    line: 'resources/read "a://b" failed',
  },
  "an interceptor of an extension": {
    server: (fail) =>
      bare()
        .tool("t", () => "")
        .extend(extension().use((call, next) => (call.method === "tools/call" ? fail() : next(call)))),
    act: (client) => client.callTool("t"),
    line: 'tools/call "t" failed',
  },
  "a topic of an extension": {
    server: (fail) =>
      bare()
        .tool("t", () => "")
        .extend(extension().topic("acme", fail)),
    act: (client) => client.watch({ toolsListChanged: true, acme: true } as never),
    line: "subscriptions/listen failed",
    era: "modern",
  },
  onSubscribe: {
    server: (fail) => bare({ resources: { onSubscribe: fail } }).resource("a://b", { name: "r" }, () => ""),
    act: (client) => client.watch({ resources: ["a://b"] }),
    line: "onSubscribe failed",
  },
  "onSubscribe that rejects": {
    server: (fail) =>
      bare({ resources: { onSubscribe: async () => fail() } }).resource("a://b", { name: "r" }, () => ""),
    act: (client) => client.watch({ resources: ["a://b"] }),
    line: "onSubscribe failed",
  },
};

for (const [title, { server, act, line, era: only }] of Object.entries(FAILURES))
  for (const era of ["modern", "legacy"] as const)
    if (only === undefined || only === era)
      test(`the error of ${title} is printed (${era})`, async (t) => {
        const printed = listen(t);
        const client = await connect(
          server(() => {
            throw new Error("broken");
          }),
          { era },
        );
        t.after(() => client.close());
        await act(client).catch(() => {});
        await until("the line", () => printed.length > 0);
        equal(printed.length, 1, printed.join("\n"));
        equal(printed[0]!.startsWith(`bowline: ${line}: Error: broken\n`), true, printed[0]);
        match(printed[0]!, /\n +at .*printed-errors\.test/);
      });

for (const [title, thrown, shown] of [
  ["undefined", undefined, "undefined"],
  ["null", null, "null"],
  ["a function", () => 5, "function"],
  ["a symbol", Symbol("s"), "symbol"],
  ["a number that JSON does not have", 5n, "bigint"],
] as const)
  test(`a handler that throws ${title} fails with a text that says so, and is printed`, async (t) => {
    const printed = listen(t);
    const server = bare()
      .tool("throws", () => {
        throw thrown;
      })
      .tool("rejects", () => Promise.reject(thrown))
      .prompt("p", () => {
        throw thrown;
      });
    for (const era of ["modern", "legacy"] as const) {
      const client = await connect(server, { era });
      const problem = `threw a value that is not an Error: ${shown}`;
      for (const name of ["throws", "rejects"]) {
        const { isError, text } = await client.callTool(name);
        deepEqual([isError, text], [true, `the tool ${problem}`]);
        equal(printed.pop(), `bowline: tools/call "${name}" failed: the code ${problem}`);
      }
      await rejects(client.getPrompt("p"), { message: "Internal error" });
      equal(printed.pop(), `bowline: prompts/get "p" failed: the code ${problem}`);
      deepEqual(printed, []);
      await client.close();
    }
  });

for (const era of ["modern", "legacy"] as const)
  test(`listeners and loggers that reject end neither a server nor a client (${era})`, async (t) => {
    watchRejections(t);
    const rejected: string[] = [];
    const rejecting = (name: string) => async () => {
      rejected.push(name);
      throw new Error(name);
    };
    const logger = (side: string) => ({ error: rejecting(`${side} error`), debug: rejecting(`${side} debug`) });
    const server = failing({ onError: rejecting("server onError"), logger: logger("server") });
    const client = await connect(server, {
      era,
      onOpen: rejecting("client onOpen"),
      onClose: rejecting("client onClose"),
      onError: rejecting("client onError"),
      logger: logger("client"),
      onNotification: rejecting("client notification"),
    });
    await client.callTool("forecast");
    const watch = await client.watch({ toolsListChanged: true });
    server.changes.toolsChanged();
    for await (const _ of watch) break;
    await client.close();
    await server.close();
    for (const name of ["server onError", "server error", "client onOpen", "client onClose", "client onError"])
      equal(rejected.includes(name), true, name);
  });

test("with a logger or onError nothing is printed", async (t) => {
  const printed = listen(t);
  const told: unknown[] = [];
  for (const options of [
    { logger: { error: (text: string) => told.push(text) } },
    { onError: () => told.push("own") },
  ]) {
    const client = await connect(failing(options));
    await client.callTool("forecast");
    await client.close();
  }
  deepEqual(told, ["no city", "own"]);
  deepEqual(printed, []);
});

test("a mistake of the client is not printed", async (t) => {
  const printed = listen(t);
  const [ours, theirs] = createChannelPair();
  const server = failing();
  t.after(() => server.close());
  await server.accept(theirs);
  const heard: string[] = [];
  await ours.open({ onFrame: (text) => void heard.push(text), onProblem() {}, onClose() {} });
  for (const text of ["nonsense", '{"jsonrpc":"2.0","id":1,"method":5}', '{"jsonrpc":"2.0","id":2,"method":"no/such"}'])
    await ours.send(text);
  await until("the refusals", () => heard.length === 2);
  deepEqual(printed, []);
});

test("errors are printed up to limits.maxPrintedErrors in an hour, and the limit is told once", async (t) => {
  const printed = listen(t);
  const clock = new FakeClock();
  const client = await connect(failing({ clock, limits: { maxPrintedErrors: 2 } }));
  t.after(() => client.close());
  const fail = async (times: number) => {
    for (let time = 0; time < times; time++) await client.callTool("forecast");
    return printed.splice(0).map((text) => text.split(" failed")[0]);
  };
  const shown = 'bowline: tools/call "forecast"';
  const full = `bowline: 2 errors printed, none for an hour (limits.maxPrintedErrors): set logger or onError`;
  deepEqual(await fail(5), [shown, shown, full]);
  clock.advance(3_599_999);
  deepEqual(await fail(1), []);
  clock.advance(1);
  deepEqual(await fail(1), [shown]);
});

test("a long error is cut, and a chain of causes that has no end too", async (t) => {
  const printed = listen(t);
  const ring = new Error("ring");
  ring.cause = ring;
  const server = new McpServer({ name: "s", version: "1" })
    .tool("long", {}, () => {
      throw new Error("x".repeat(100_000));
    })
    .tool("ring", {}, () => {
      throw ring;
    });
  const client = await connect(server);
  t.after(() => client.close());
  await client.callTool("long");
  await client.callTool("ring");
  equal(printed.length, 2);
  for (const text of printed) equal(text.length < 15_000, true);
  equal(printed[1]!.split("caused by").length, 3);
});
