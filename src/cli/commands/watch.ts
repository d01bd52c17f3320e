import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { WatchFilter } from "../../client/subscriptions/watch.js";
import type { CommandContext } from "../context.js";
import { CommandError, EXIT } from "../failures.js";
import { countOf, textValue, timeOf } from "../parse.js";
import { withClient } from "../session.js";
import { visibleLine } from "../text.js";

/** Prints changes of lists, or of resources, until it has enough of them or is interrupted. */
export async function watch(context: CommandContext): Promise<void> {
  const { line, io, values } = context;
  const uris = line.names;
  const most = countOf("count", values) ?? Number.POSITIVE_INFINITY;
  const forMs = timeOf("for", values);
  const command = textValue("exec", values);
  const filter: WatchFilter =
    uris.length > 0
      ? { resources: uris }
      : { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  await withClient(context, async (client) => {
    const watching = await client.watch(filter, { signal: io.signal });
    const { honoured } = watching;
    const kept = Object.values(honoured).some((part) => part === true || (Array.isArray(part) && part.length > 0));
    if (!kept) {
      await watching.close();
      throw new CommandError(EXIT.serverError, "not_watched", "the server announces none of these changes");
    }
    const timer = forMs === undefined ? undefined : setTimeout(() => void watching.close(), forMs);
    context.screen.note(
      context.screen.tint("dim", `watching ${uris.length > 0 ? uris.map(visibleLine).join(", ") : "lists"}`),
    );
    let count = 0;
    try {
      for await (const change of watching) {
        const told = change.kind === "resync" ? { kind: change.kind, missed: change.missed } : change;
        const uri = change.kind === "resource" ? change.uri : "";
        context.item(told, () => context.screen.line(`${change.kind}${uri === "" ? "" : ` ${visibleLine(uri)}`}`));
        if (command !== undefined) await runFor(command, change.kind, uri, context);
        count++;
        if (count >= most) break;
      }
    } finally {
      clearTimeout(timer);
      await watching.close();
    }
    io.signal.throwIfAborted();
  });
}

/**
 * Runs the command of a change. The URI is a variable, so that no shell interprets it. Its exit code changes nothing. It
 * ends with this command.
 */
async function runFor(command: string, kind: string, uri: string, { io, screen }: CommandContext): Promise<void> {
  const env = { ...io.env, MCP_KIND: kind, MCP_URI: uri };
  // A group of its own, so that a signal reaches what the shell has started.
  const isGroup = io.platform !== "win32";
  const child = spawn(command, {
    shell: true,
    cwd: io.cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: isGroup,
  });
  const stop = () => stopAll(child, isGroup);
  io.signal.addEventListener("abort", stop, { once: true });
  child.stdout.on("data", (part: Uint8Array) => io.stdout.write(part));
  child.stderr.on("data", (part: Uint8Array) => io.stderr.write(part));
  const [code] = (await once(child, "close")) as [number | null];
  io.signal.removeEventListener("abort", stop);
  io.signal.throwIfAborted();
  if (code !== 0) screen.note(`--exec ended with ${code}`);
}

function stopAll(child: ChildProcess, isGroup: boolean): void {
  if (!isGroup || child.pid === undefined) return void child.kill();
  try {
    process.kill(-child.pid);
  } catch {
    // All of the group have ended.
  }
}
