import { startBalancer } from "../balancing.js";
import { announce, inputEnd } from "./listen.js";

/** nginx before the servers at some addresses, until standard input ends: `node balance.js <url ...>`. */
const ports = process.argv.slice(2).map((url) => Number(new URL(url).port));
const nginx = await startBalancer(ports);
announce(`http://127.0.0.1:${nginx.ports[0]}/mcp`);
await inputEnd();
await nginx.end();
