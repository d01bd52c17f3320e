import { StreamableHttpTransport } from "mcp-lite";
import { resources } from "../../workload/app.mjs";
import { createServer } from "./server.mjs";

/** Calls its web handler, since it has neither a transport for tests nor a client. */
export async function connect() {
  const handle = new StreamableHttpTransport().bind(createServer());
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "mcp-protocol-version": "2025-06-18",
  };
  let id = 0;
  const call = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params });
    const response = await handle(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
    return (await response.json()).result;
  };
  return {
    echo: (text) => call("tools/call", { name: "echo", arguments: { text } }),
    list: () => call("tools/list", {}),
    read1k: () => call("resources/read", { uri: resources[0].uri }),
    read1m: () => call("resources/read", { uri: resources[1].uri }),
  };
}
