import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Wire {
  readonly modern: boolean;
  readonly json?: boolean;
}

interface Call {
  readonly method: string;
}

interface Facts {
  readonly session?: string | undefined;
}

const { createServer } = await loadScript<{
  createServer(wire: { json: boolean }): { fetch(request: Request): Promise<Response>; close(): Promise<void> };
}>("bench/adapters/bowline/server.mjs");
const { answerTo, progressOf } = await loadScript<{
  answerTo(message: object, modern: boolean): object;
  progressOf(message: object, modern: boolean, send: (note: object) => void): Promise<object>;
}>("bench/adapters/bare/answers.mjs");
const { calls, bodyOf, headersOf, initialize, initialized, messagesIn } = await loadScript<{
  calls: Readonly<Record<"echo" | "list" | "read1k" | "read1m" | "progress", Call>>;
  bodyOf(wire: Wire, call: Call, id: number): string;
  headersOf(wire: Wire, call: Call, facts?: Facts): Record<string, string>;
  initialize(): Call;
  initialized: string;
  messagesIn(text: string): readonly object[];
}>("bench/workload/requests.mjs");

for (const modern of [true, false]) {
  test(`the floor answers as Bowline does, value for value (${modern ? "modern" : "legacy"})`, async () => {
    const wire = { modern };
    const server = createServer({ json: false });
    const post = (headers: Record<string, string>, body: string) =>
      server.fetch(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
    const facts: { session?: string } = {};
    if (!modern) {
      const hello = await post(headersOf(wire, initialize()), bodyOf(wire, initialize(), 1));
      await hello.text();
      facts.session = hello.headers.get("mcp-session-id") ?? "";
      await post(headersOf(wire, { method: "notifications/initialized" }, facts), initialized);
    }
    for (const [name, call] of Object.entries(calls)) {
      const body = bodyOf(wire, call, 7);
      const response = await post(headersOf(wire, call, facts), body);
      deepEqual(messagesIn(await response.text()), await floorMessages(JSON.parse(body), modern, name));
    }
    await server.close();
  });
}

async function floorMessages(message: object, modern: boolean, name: string): Promise<readonly object[]> {
  if (name !== "progress") return [answerTo(message, modern)];
  const notes: object[] = [];
  const answer = await progressOf(message, modern, (note) => void notes.push(note));
  return [...notes, answer];
}
