import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { ProtocolError } from "bowline/client";
import { gate } from "../../support/gate.js";
import { scriptedLegacy, scriptedServers, toolText } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const BATCHES = "2025-03-26";
const answer = (request: { id?: unknown }, text: string) => ({
  jsonrpc: "2.0",
  id: request.id,
  result: toolText(text),
});

verifies(
  ["protocol:batch:receive"],
  "a client takes answers, notifications and requests out of an array",
  scriptedLegacy,
  async (server) => {
    const noticed = gate<unknown>();
    const client = await server.connect({
      versions: [BATCHES],
      onNotification: ({ params }) => noticed.open(params),
      roots: [{ uri: "file:///a" }],
    });
    const calls = [client.callTool("a"), client.callTool("b")];
    const [first, second] = [await server.peer.asked("tools/call"), await server.peer.asked("tools/call")];
    server.peer.send(
      JSON.stringify([
        answer(second, "two"),
        { jsonrpc: "2.0", method: "vendor/event", params: { n: 1 } },
        { jsonrpc: "2.0", id: "r", method: "roots/list" },
        { jsonrpc: "2.0", id: "p", method: "ping" },
        answer(first, "one"),
      ]),
    );
    deepEqual(
      (await Promise.all(calls)).map(({ text }) => text),
      ["one", "two"],
    );
    deepEqual(await noticed.opened, { n: 1 });
    deepEqual((await server.peer.answerTo("r")).result, { roots: [{ uri: "file:///a" }] });
    deepEqual((await server.peer.answerTo("p")).result, {});
  },
);

verifies(
  ["protocol:batch:receive"],
  "what is no message in an array costs nobody else his",
  scriptedLegacy,
  async (server) => {
    const problems: string[] = [];
    const client = await server.connect({ versions: [BATCHES], onError: ({ message }) => problems.push(message) });
    const call = client.callTool("a");
    const request = await server.peer.asked("tools/call");
    server.peer.send(JSON.stringify([1, [answer(request, "nested")], answer(request, "one")]));
    equal((await call).text, "one");
    equal(problems.length, 2);
  },
);

verifies(
  ["protocol:batch:rejected"],
  "a client refuses an array where there are none, and the calls that it answers fail at once",
  scriptedServers,
  async (server) => {
    const problems: Error[] = [];
    const client = await server.connect({
      onError: (error) => problems.push(error),
      methods: { "vendor/ask": () => ({}) },
    });
    const calls = [client.callTool("a"), client.callTool("b"), client.callTool("c")];
    const requests = [
      await server.peer.asked("tools/call"),
      await server.peer.asked("tools/call"),
      await server.peer.asked("tools/call"),
    ] as const;
    const malformed = { jsonrpc: "2.0", id: requests[1].id, result: "two" };
    server.peer.send(JSON.stringify([answer(requests[0], "one"), malformed]));
    for (const call of calls.slice(0, 2)) {
      await rejects(call, (error) => {
        ok(error instanceof ProtocolError, String(error));
        match(error.message, /batches are not supported in this protocol version/);
        return true;
      });
    }
    // Answers are not answered; a question is, by the error that its sender can act on.
    server.peer.send(JSON.stringify([{ jsonrpc: "2.0", id: 7, method: "vendor/ask" }]));
    equal((await server.peer.answerTo(undefined)).error?.code, -32600);
    server.peer.send("[]");
    equal((await server.peer.answerTo(undefined)).error?.code, -32600);
    equal(server.peer.answersTo(undefined).length, 2);
    deepEqual(server.peer.answersTo(7), []);
    equal(problems.length, 3);
    server.peer.send(answer(requests[2], "three"));
    equal((await calls[2])?.text, "three");
  },
);

for (const [most, options] of [
  [64, {}],
  [3, { limits: { maxBatchItems: 3 } }],
] as const) {
  verifies(
    ["protocol:batch:receive"],
    `an array of more than ${most} messages is refused with the name of the limit, and fails the calls that it answers`,
    scriptedLegacy,
    async (server) => {
      const fill = (count: number) => Array.from({ length: count }, () => ({ jsonrpc: "2.0", method: "vendor/event" }));
      const client = await server.connect({ versions: [BATCHES], onError: () => {}, ...options });
      const fits = client.callTool("a");
      server.peer.send(JSON.stringify([...fill(most - 1), answer(await server.peer.asked("tools/call"), "fits")]));
      equal((await fits).text, "fits");
      const over = client.callTool("a");
      server.peer.send(JSON.stringify([...fill(most), answer(await server.peer.asked("tools/call"), "over")]));
      await rejects(over, { name: "ProtocolError", message: new RegExp(`limit of ${most} .*limits.maxBatchItems`) });
    },
  );
}
