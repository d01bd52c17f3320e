import { pathToFileURL } from "node:url";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import * as z from "zod";

export const server = new McpServer({ name: "{{name}}", version: "0.1.0" }).tool(
  "greet",
  {
    description: "Greets somebody by name",
    input: z.object({ name: z.string().min(1).describe("Whom to greet") }),
    output: z.object({ greeting: z.string() }),
  },
  ({ name }) => ({ greeting: `Hello, ${name}!` }),
);

// The test imports this file, and then serves nothing.
if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const running = await serveHttp(server, { port: Number(process.env.PORT ?? 3000) });
  console.log(running.url);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void running.close());
}
