import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A port that a process connects to for as long as it lives, so that its end is an event here. */
export interface Presence extends Disposable {
  readonly port: number;
  /** Resolves when the process has connected. */
  readonly arrived: Promise<void>;
  /** Resolves when the process has gone. */
  readonly gone: Promise<void>;
  /** Whether the process is connected now. */
  readonly here: boolean;
  /** Lets the process go, which ends it if nothing else keeps it. */
  release(): void;
}

export async function awaitPresence(): Promise<Presence> {
  let socket: Socket | undefined;
  const server = createServer();
  const arrived = once(server, "connection").then(([connected]) => {
    socket = (connected as Socket).on("error", () => {}).resume();
  });
  const gone = arrived.then(async () => {
    if (!socket!.closed) await new Promise((resolve) => socket!.once("close", resolve));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const release = () => {
    socket?.destroy();
    server.close();
  };
  return {
    port: (server.address() as AddressInfo).port,
    arrived,
    gone,
    get here() {
      return socket !== undefined && !socket.closed;
    },
    release,
    [Symbol.dispose]: release,
  };
}
