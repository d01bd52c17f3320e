import { McpServer } from "bowline/server";
import * as z from "zod";

/** The file `app/api/mcp/route.ts` of a Next.js app. One handler serves all methods. */
const server = new McpServer({ name: "next", version: "1.0.0" }).tool(
  "greet",
  {
    description: "Greets a person",
    input: z.object({ name: z.string().describe("Name of the person") }),
    annotations: { readOnlyHint: true },
  },
  async ({ name }, ctx) => {
    await ctx.progress(1, 1, "waving");
    return `Hello ${name}`;
  },
);

const handler = (request: Request): Promise<Response> => server.fetch(request);

export { handler as DELETE, handler as GET, handler as OPTIONS, handler as POST };
export const dynamic = "force-dynamic";
