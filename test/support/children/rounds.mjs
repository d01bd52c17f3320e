// A server over HTTP with a tool that asks twice between its steps. Arguments: the bytes of the state key as JSON. Says
// its address on stdout, and on stderr each step that it runs and each round that it serves.
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";

const secret = Uint8Array.from(JSON.parse(process.argv[2]));
const tell = (text) => process.stderr.write(`${text}\n`);
const form = { type: "object", properties: { name: { type: "string" } } };
const server = new McpServer({ name: "child", version: "1.0.0" }, { stateKeys: [{ id: "k", secret }] }).tool(
  "ask",
  {},
  async (_, ctx) => {
    tell("round");
    const run = (name) =>
      ctx.step(name, () => {
        tell(name);
        return name;
      });
    const before = await run("before");
    const first = await ctx.elicit("first", form);
    const between = await run("between");
    const second = await ctx.elicit("second", form);
    const after = await run("after");
    return [before, first.content.name, between, second.content.name, after].join();
  },
);
const { url } = await serveHttp(server);
process.stdout.write(`${url}\n`);
