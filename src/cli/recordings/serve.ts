import type { ReplayServer } from "../../entry/testing.js";
import { createGuard } from "../../http/guard.js";
import { serveHttp } from "../../node/http/serve.js";
import { createStdioServerChannel } from "../../node/stdio/server.js";
import type { CommandContext } from "../context.js";
import { EXIT, UsageError } from "../failures.js";
import { portOf, textValue } from "../parse.js";
import { environmentOf } from "../target.js";
import { visibleLine } from "../text.js";
import { playAsTold, problemsOf } from "./play.js";

/**
 * Serves a recording by stdio until its client leaves, or by HTTP until the signal ends it. Then tells what was recorded and
 * not sent, or sent and not recorded.
 */
export async function serveRecording(name: string, context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  const port = textValue("listen", values);
  const server = await playAsTold(name, values, environmentOf(line, io), io);
  try {
    if (port === undefined) await overStdio(name, server, context);
    else await overHttp(portOf("listen", port), server, context);
  } finally {
    await server.close();
  }
  const problems = problemsOf(() => server.assertDone());
  for (const problem of problems) screen.note(visibleLine(problem));
  if (problems.length > 0) context.exit = EXIT.checkFailed;
}

async function overStdio(name: string, server: ReplayServer, { io, screen }: CommandContext): Promise<void> {
  if (io.stdin.isTTY === true)
    screen.note(`${visibleLine(name)} waits for an MCP client on stdin; --listen 0 serves it over HTTP`);
  const channel = createStdioServerChannel({ input: io.stdin, output: io.stdout });
  const connection = await server.accept(channel);
  const end = () => void connection.close();
  if (io.signal.aborted) end();
  io.signal.addEventListener("abort", end, { once: true });
  await connection.closed;
  io.signal.removeEventListener("abort", end);
  await channel.close();
}

async function overHttp(port: number, server: ReplayServer, { io, screen }: CommandContext): Promise<void> {
  const guard = createGuard();
  const guarded: Pick<ReplayServer, "handle" | "close"> = {
    handle: (exchange) => {
      const refusal = guard(exchange);
      if (refusal === undefined) server.handle(exchange);
      else exchange.reply(refusal.status, { "content-type": "text/plain" }, `${refusal.message}\n`);
    },
    close: () => server.close(),
  };
  const running = await serveHttp(guarded, { port }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot listen on port ${port} (${error.code}); choose another by --listen`);
  });
  screen.line(running.url);
  if (!io.signal.aborted) await new Promise((resolve) => io.signal.addEventListener("abort", resolve, { once: true }));
  await running.close();
}
