import { isObject } from "../../protocol/json.js";
import type { OpenEvent } from "../../recording/events.js";
import type { Span } from "../../recording/spans.js";
import { type FrameRow, framesOf } from "./frames.js";
import type { Run } from "./run.js";

/** Forms in which a call can be copied. */
export const FORMS = {
  test: "Test",
  typescript: "TypeScript",
  command: "bowline call",
  curl: "curl",
  json: "JSON",
} as const;
export type Form = keyof typeof FORMS;

/** Writes a call so that it can be repeated elsewhere. Undefined where that form cannot express it. */
export function copyOf(form: Form, run: Run, span: Span): string | undefined {
  const frames = framesOf(run, span);
  const request = frames.find(({ kind, d }) => kind === "request" && d === ">");
  const connection = run.connection(span.c)?.open;
  if (request === undefined || span.method === undefined) return undefined;
  const params = isObject(request.body) ? (request.body as Params) : {};
  switch (form) {
    case "json":
      return JSON.stringify(
        frames.filter(({ d }) => d !== undefined).map(({ t, d, body }) => ({ t, d, message: body })),
        null,
        2,
      );
    case "typescript":
      return program(targetOf(connection), span.method, params);
    case "test":
      return testOf(run.name, span, params, frames);
    case "command":
      return commandOf(connection, span.method, params);
    case "curl":
      return curlOf(connection, request.http, run, request.line);
  }
}

interface Params {
  readonly [name: string]: unknown;
}

/** Writes an import of a program. */
const load = (what: string, from: string) => ["import", what, "from", `${literal(from)};`].join(" ");

const literal = (value: unknown) => JSON.stringify(value);

/** Returns the expression of a call by the client. Undefined if its method has none. */
function callOf(method: string, params: Params): string {
  const args =
    isObject(params.arguments) && Object.keys(params.arguments).length > 0 ? `, ${literal(params.arguments)}` : "";
  switch (method) {
    case "tools/call":
      return `client.callTool(${literal(params.name)}${args})`;
    case "resources/read":
      return `client.readResource(${literal(params.uri)})`;
    case "prompts/get":
      return `client.getPrompt(${literal(params.name)}${args})`;
    case "tools/list":
      return "client.listTools()";
    default:
      return `client.request(${literal(method)}, ${literal(params)})`;
  }
}

function targetOf(open: OpenEvent | undefined): string {
  const { url, command, args } = open?.server ?? {};
  if (url !== undefined) return literal(url);
  return command === undefined ? '{ command: "node", args: ["server.js"] }' : literal({ command, args: args ?? [] });
}

function program(target: string, method: string, params: Params): string {
  return `${load("{ connect }", "bowline/client")}

const client = await connect(${target});
const result = await ${callOf(method, params)};
console.log(result);
await client.close();
`;
}

/** Writes a test that replays the recording, gives the recorded answers, and expects the recorded outcome. */
function testOf(
  name: string,
  { error, method = "tools/call" }: Span,
  params: Params,
  frames: readonly FrameRow[],
): string {
  const file = /\.ndjson$/.test(name) ? name : "recording.rec.ndjson";
  const call = callOf(method, params);
  const result = frames.findLast(({ kind }) => kind === "result" || kind === "error")?.body as Params | undefined;
  const [member = "content"] = ["content", "contents", "messages", "tools"].filter(
    (each) => result?.[each] !== undefined,
  );
  const answer = answerIn(frames);
  const options = answer === undefined ? "" : `, { onElicit: () => (${literal(answer)}) }`;
  const check =
    error === undefined
      ? `  assert.deepEqual((await ${call}).${member}, ${literal(result?.[member] ?? [])});`
      : `  await assert.rejects(${call}, { code: ${literal(error.code)} });`;
  return `${load("assert", "node:assert/strict")}
${load("{ test }", "node:test")}
${load("{ connect }", "bowline/client")}
${load("{ replayServer }", "bowline/testing")}

test(${literal(String(params.name ?? params.uri ?? method))}, async (t) => {
  const server = await replayServer(${literal(file)});
  t.after(() => server.close());
  const client = await connect(server${options});
  t.after(() => client.close());
${check}
});
`;
}

/** Returns the first answer of a call: a response of the client, or a part of a repeated request. */
function answerIn(frames: readonly FrameRow[]): unknown {
  for (const { kind, d, body } of frames) {
    if (kind === "answer" && d === ">") return body;
    const answers = isObject(body) ? (body as Params).inputResponses : undefined;
    if (isObject(answers)) return Object.values(answers)[0];
  }
  return undefined;
}

/** Writes an argument of a shell: quoted unless it is harmless. */
function shell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function commandOf(open: OpenEvent | undefined, method: string, params: Params): string | undefined {
  const words: Readonly<Record<string, readonly unknown[]>> = {
    "tools/call": ["call", params.name, "--args", literal(params.arguments ?? {})],
    "resources/read": ["read", params.uri],
    "prompts/get": ["prompt", params.name, "--args", literal(params.arguments ?? {})],
    "tools/list": ["list"],
  };
  const verb = words[method];
  if (verb === undefined) return undefined;
  const { url, command, args = [] } = open?.server ?? {};
  const [name, ...rest] = verb.map(String);
  const isEmpty = rest.at(-1) === "{}";
  const own = (isEmpty ? rest.slice(0, -2) : rest).map(shell);
  if (url !== undefined) return ["bowline", name, shell(url), ...own].join(" ");
  return [
    "bowline",
    name,
    ...own,
    "--",
    ...(command === undefined ? ["node", "server.js"] : [command, ...args].map(shell)),
  ].join(" ");
}

function curlOf(
  open: OpenEvent | undefined,
  http: ReturnType<typeof framesOf>[number]["http"],
  run: Run,
  line: number,
): string | undefined {
  const url = open?.server?.url;
  const event = run.eventAt(line);
  if (http === undefined || url === undefined || event?.k !== "frame") return undefined;
  const headers = Object.entries(http.headers)
    .filter(([name]) => name !== "content-length")
    .map(([name, value]) => `  -H ${shell(`${name}: ${value}`)}`)
    .map((text) => (/^ {2}-H '?authorization:/i.test(text) ? '  -H "Authorization: Bearer $MCP_TOKEN"' : text));
  const body = event.m === undefined ? event.raw : JSON.stringify(event.m);
  return [`curl -N -X ${http.method} ${shell(url)}`, ...headers, `  --data ${shell(body ?? "")}`].join(" \\\n");
}
