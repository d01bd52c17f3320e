import { createInterface } from "node:readline";
import type { HealthyServer, Json, Request } from "./healthy.js";

/** What a server does around its messages on stdio. A fault changes one of its members. */
export class StdioHabits {
  /** Called before anything is read. */
  start: () => void | Promise<void> = () => {};
  /** Called with each message that arrives, before it is served. */
  onMessage: (message: Json) => void = () => {};
  /** Called at the end of input, and at a SIGTERM after the running calls. */
  end: () => void = () => process.exit(0);
  /** Called at a SIGTERM. `idle` resolves when no call is running. */
  onTerm: (idle: Promise<void>) => void = (idle) => void idle.then(() => this.end());
}

/** Serves this process's stdin and stdout. */
export async function serveStdio(server: HealthyServer, habits: StdioHabits): Promise<void> {
  const running = new Map<unknown, AbortController>();
  const whenIdle: (() => void)[] = [];
  const send = (message: Json) => void process.stdout.write(`${JSON.stringify(message)}\n`);
  const settled = () => {
    if (running.size > 0) return;
    for (const resolve of whenIdle.splice(0)) resolve();
  };
  const idle = () =>
    new Promise<void>((resolve) => {
      whenIdle.push(resolve);
      settled();
    });
  process.on("SIGTERM", () => habits.onTerm(idle()));
  await habits.start();
  const lines = createInterface({ input: process.stdin });
  lines.on("close", () => habits.end());
  lines.on("line", async (line) => {
    const request = parse(line);
    if (request === undefined)
      return send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
    habits.onMessage(request as unknown as Json);
    const { id, method, params = {} } = request;
    if (method === "notifications/cancelled") running.get(params.requestId)?.abort();
    if (id === undefined || method === undefined) return;
    const end = new AbortController();
    running.set(id, end);
    const notify = (name: string, told: Json) => {
      if (!end.signal.aborted) send({ jsonrpc: "2.0", method: name, params: told });
    };
    const response = await server.serve({ id, method, params }, { notify, signal: end.signal });
    if (response !== undefined) send(response);
    running.delete(id);
    settled();
  });
}

function parse(line: string): Request | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
