import { deepEqual, equal } from "node:assert/strict";
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { toNodeListener } from "bowline/node";
import { toFetchListener } from "#src/node/http/fetch-listener.js";
import { gate } from "../../../support/gate.js";

interface Seen {
  readonly url: string;
  readonly type: string | null;
  readonly bytes: number[];
}

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const bytesOf = (text: string) => [...new TextEncoder().encode(text)];

/** Posts a body to a function of web requests, behind a parser that has read the body already. */
async function post(
  t: TestContext,
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  parse: (bytes: Buffer) => unknown,
) {
  const seen: Seen[] = [];
  const listener = toNodeListener({
    fetch: async (request) => {
      const bytes = [...new Uint8Array(await request.arrayBuffer())];
      seen.push({ url: request.url, type: request.headers.get("content-type"), bytes });
      return new Response("seen");
    },
  });
  const http = createServer(async (incoming: IncomingMessage & { body?: unknown; originalUrl?: string }, outgoing) => {
    incoming.body = parse(Buffer.concat(await incoming.toArray()));
    incoming.originalUrl = incoming.url as string;
    incoming.url = "/below";
    listener(incoming, outgoing);
  });
  t.after(() => http.close());
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/api/token?x=1`;
  const response = await fetch(url, { method: "POST", headers: { "content-type": type, connection: "close" }, body });
  equal(await response.text(), "seen");
  equal(seen[0]?.url, url);
  equal(seen[0]?.type, type);
  return seen[0]?.bytes;
}

for (const value of [{ a: [1, { b: "é" }] }, [], 0, false, null]) {
  const text = JSON.stringify(value);
  test(`a body of JSON that was parsed arrives as JSON: ${text}`, async (t) => {
    const bytes = await post(t, JSON_TYPE, text, (body) => JSON.parse(body.toString()));
    deepEqual(bytes, bytesOf(text));
  });
}

test("a form that was parsed arrives as a form, with fields that are named twice", async (t) => {
  const form = "scope=a+b&resource=https%3A%2F%2Fa.example%2F&resource=https%3A%2F%2Fb.example%2F&empty=";
  const parse = (body: Buffer) => {
    const fields = new URLSearchParams(body.toString());
    return Object.fromEntries([...fields.keys()].map((name) => [name, one(fields.getAll(name))]));
  };
  deepEqual(await post(t, FORM_TYPE, form, parse), bytesOf(form));
});

test("a body that was read as text or as bytes arrives as it was", async (t) => {
  deepEqual(await post(t, "text/plain", "words é", String), bytesOf("words é"));
  deepEqual(await post(t, JSON_TYPE, '{"a": 1}', String), bytesOf('{"a": 1}'), "text is not written as JSON again");
  const bytes = Buffer.from([0, 255, 254, 128, 10]);
  deepEqual(await post(t, "application/octet-stream", bytes, (body) => body), [...bytes]);
});

/** Creates a request as a server hands it over, without a connection. */
function incomingOf(fields: { method?: string; url?: string | undefined }): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), fields);
}

test("a request without a target is for the root", async () => {
  const incoming = incomingOf({ url: undefined });
  const asked = gate<string>();
  const listener = toFetchListener(({ url }) => {
    asked.open(url);
    return new Response();
  });
  listener(incoming, new ServerResponse(incoming));
  equal(await asked.opened, "http://localhost/");
});

test("a body is read ahead up to 64 KiB, and the rest when it is wanted", async () => {
  const incoming = incomingOf({ method: "POST", url: "/" });
  const asked = gate<Request>();
  const listener = toFetchListener((request) => {
    asked.open(request);
    return new Promise(() => {});
  });
  listener(incoming, new ServerResponse(incoming));
  let read = 0;
  incoming.on("data", (chunk: Buffer) => {
    read += chunk.length;
  });
  const paused = once(incoming, "pause");
  for (let piece = 0; piece < 6; piece++) incoming.push(Buffer.alloc(16 * 1024));
  await paused;
  equal(read, 64 * 1024);
  incoming.push(null);
  const request = await asked.opened;
  equal((await request.arrayBuffer()).byteLength, 96 * 1024);
});

const one = (values: readonly string[]): string | readonly string[] =>
  values.length === 1 ? String(values[0]) : values;
