import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** Serves HTTP on a free port until standard input ends; the address is the first line of standard output. */
export async function listen(listener: RequestListener): Promise<void> {
  const http = createServer(listener);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  announce(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  await inputEnd();
  http.close();
  http.closeAllConnections();
}

export function announce(url: string): void {
  process.stdout.write(`${url}\n`);
}

export async function inputEnd(): Promise<void> {
  process.stdin.resume();
  await once(process.stdin, "end");
}
