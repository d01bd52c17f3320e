import { resolve } from "node:path";
import type { Client } from "../../client/client.js";
import { isResourceNotFound } from "../../client/results.js";
import type { ReadResourceResult } from "../../protocol/types/index.js";
import { expandUriTemplate } from "../../protocol/uri-expand.js";
import { bytesOf, contentsText, saveNew } from "../content.js";
import type { CommandContext } from "../context.js";
import { CommandError, EXIT, UsageError } from "../failures.js";
import { textValue } from "../parse.js";
import { withClient } from "../session.js";
import { readTail } from "../tail.js";
import { visibleLine } from "../text.js";

/** Reads a resource, with `--watch` again on each change. */
export async function read(context: CommandContext): Promise<void> {
  const uri = await uriOf(context);
  const { io, screen } = context;
  await withClient(context, async (client) => {
    if (context.values.watch !== true) return readOnce(client, uri, context);
    // Opened before the first read, so that no change is missed between the two.
    const watch = await client.watch({ resources: [uri] }, { signal: io.signal });
    if ((watch.honoured.resources ?? []).length === 0) {
      await watch.close();
      throw new CommandError(EXIT.serverError, "not_watched", "the server announces no changes of this resource");
    }
    screen.note(screen.tint("dim", `watching ${visibleLine(uri)}`));
    await readOnce(client, uri, context);
    for await (const _ of watch) await readOnce(client, uri, context);
    io.signal.throwIfAborted();
  });
}

/** Returns the URI, or that of the template with the variables of the command line. */
async function uriOf(context: CommandContext): Promise<string> {
  const [template = ""] = context.line.names;
  const variables = await readTail(context, "read", "variable");
  const wanted = [...template.matchAll(/\{([^{}]*)\}/g)].flatMap(([, inside = ""]) =>
    inside
      .replace(/^[+#./;?&]/, "")
      .split(",")
      .map((name) => name.replace(/(?:\*|:\d+)$/, "")),
  );
  const stray = Object.keys(variables).find((name) => !wanted.includes(name));
  if (stray !== undefined) {
    const has = wanted.length === 0 ? "has no variables" : `has the variables ${wanted.join(", ")}`;
    throw new UsageError(`unknown option --${stray}; ${JSON.stringify(template)} ${has}`);
  }
  const missing = wanted.filter((name) => variables[name] === undefined);
  if (missing.length > 0)
    throw new UsageError(`${JSON.stringify(template)} needs ${missing.map((name) => `--${name} <value>`).join(" ")}`);
  return wanted.length === 0 ? template : expandUriTemplate(template, variables);
}

async function readOnce(client: Client, uri: string, context: CommandContext): Promise<void> {
  const { io, screen, values } = context;
  let result: ReadResourceResult;
  try {
    result = await client.readResource(uri, { signal: io.signal, cache: "refresh" });
  } catch (error) {
    if (isResourceNotFound(error)) throw new UsageError(`the server has no resource ${visibleLine(uri)}`);
    throw error;
  }
  const { contents } = result;
  const out = textValue("out", values);
  if (out === "-") {
    for (const part of contents) screen.bytes(bytesOf(part));
    return;
  }
  if (out !== undefined) {
    if (contents.length !== 1)
      throw new UsageError(
        `the resource has ${contents.length} parts; --out takes one, and --out - writes all to stdout`,
      );
    const path = await saveNew(resolve(io.cwd, out), bytesOf(contents[0]!));
    return context.finish({ saved: path }, () => screen.note(`saved ${visibleLine(path)}`));
  }
  const show = () => {
    for (const part of contents) screen.line(contentsText(part));
  };
  if (values.watch === true) context.item({ contents }, show);
  else context.finish({ contents }, show);
}
