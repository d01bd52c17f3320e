import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "a", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
console.log(await client.callTool({ name: "echo", arguments: { text: "hi" } }));
