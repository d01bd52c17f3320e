import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { McpServer, type ServerOptions } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { until } from "../../support/census.js";
import { FakeClock } from "../../support/fake-clock.js";

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
