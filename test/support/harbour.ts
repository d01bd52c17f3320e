import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { serveHttp } from "bowline/node";
import type { McpServer } from "bowline/server";

const examples = new URL("../../../examples/dist/", import.meta.url);

export const { createHarbour } = (await import(new URL("harbour.js", examples).href)) as {
  createHarbour(onInterrupted?: () => void): McpServer;
};

/** Command of a server with the tools of the harbour, and skills. */
export const harbourProgram = [process.execPath, fileURLToPath(new URL("skills-server.js", examples))];

/** Serves over HTTP until the test ends. Returns the URL. */
export async function serve(t: TestContext, server: McpServer): Promise<string> {
  const running = await serveHttp(server, { port: 0 });
  t.after(() => running.close());
  return running.url;
}

/** Ways to reach the harbour: by HTTP and by stdio, in both eras. `place` puts a server into a command line. */
export const WIRES = ["auto", "legacy"].flatMap((era) => [
  {
    name: `http, ${era}`,
    place: async (t: TestContext, [command = "", ...rest]: readonly string[]) => [
      command,
      await serve(t, createHarbour()),
      ...rest,
      "--era",
      era,
    ],
  },
  {
    name: `stdio, ${era}`,
    place: async (_: TestContext, args: readonly string[]) => [...args, "--era", era, "--", ...harbourProgram],
  },
]);
