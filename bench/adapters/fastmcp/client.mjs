import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { info } from "../../workload/app.mjs";
import { wrap } from "../official-v1/client.mjs";
import { createServer } from "./server.mjs";

export async function connect() {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client(info);
  await Promise.all([createServer().connect(far), client.connect(near)]);
  return wrap(client);
}
