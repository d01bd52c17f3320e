import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "a", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
console.log(await client.callTool({ name: "echo", arguments: { text: "hi" } }));
