import { createServer } from "node:http";

/** Serves a listener on a free port of 127.0.0.1 and returns the port. */
export function listen(listener) {
  return new Promise((resolve) => {
    const server = createServer(listener);
    server.keepAliveTimeout = 120_000;
    server.listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}

/** Returns a free port, for servers that listen by themselves. */
export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
