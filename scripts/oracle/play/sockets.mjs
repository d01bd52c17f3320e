import { connect } from "node:net";

/** Time without data after which a connection is recorded as hanging. */
const PATIENCE_MS = 3000;

/** Serves on a free port of 127.0.0.1. */
export async function startListener(sdk, server) {
  const running = await sdk.serveHttp(server, { port: 0, host: "127.0.0.1" });
  return { port: running.port, close: () => running.close() };
}

/**
 * Sends a request over a plain socket, with the header lines exactly as given, and reads until the server closes the
 * connection.
 * @param {number} port
 * @param {{ method?: string, url?: string, headers?: Record<string, string | string[] | undefined>, body?: unknown,
 * raw?: string }} step
 */
export function sendBySocket(port, step) {
  const socket = connect(port, "127.0.0.1");
  const listeners = new Set();
  let bytes = "";
  let hangs = false;
  let left = false;
  const done = new Promise((resolve) => socket.once("close", resolve));
  const timer = setTimeout(() => {
    hangs = true;
    socket.destroy();
  }, PATIENCE_MS);
  done.then(() => {
    clearTimeout(timer);
    for (const look of listeners) look();
  });
  socket.setEncoding("utf8").on("data", (text) => {
    bytes += text;
    for (const look of listeners) look();
  });
  socket.on("error", () => {});
  socket.write(step.raw ?? toBytes(step), "latin1");
  return {
    done,
    /** Resolves when this many events have arrived, or the connection has ended. */
    heard: (events) =>
      new Promise((resolve) => {
        const look = () => {
          if (!socket.destroyed && bytes.split("\ndata: ").length <= events) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
      }),
    answer: () => ({ ...parseAnswer(bytes), ...(hangs && { hangs }), ...(left && { left }) }),
    leave() {
      left ||= !socket.destroyed;
      socket.destroy();
    },
  };
}

function toBytes({ method = "POST", url = "/mcp", headers = {}, body }) {
  const given = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const text = Buffer.from(given, "utf8").toString("latin1");
  const all = {
    host: "localhost",
    connection: "close",
    ...(body !== undefined && { "content-length": `${text.length}` }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined)
      .map((one) => `${name}: ${one}`),
  );
  return `${method} ${url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${text}`;
}

/** Returns the parts of a response. Chunks of the body are joined, since their boundaries are arbitrary. */
function parseAnswer(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return { status: null, headers: [], chunks: [bytes] };
  const [status, ...lines] = bytes.slice(0, end).split("\r\n");
  const headers = lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
  const body = bytes.slice(end + 4);
  const chunked = headers.some(([name, value]) => name.toLowerCase() === "transfer-encoding" && value === "chunked");
  return { status, headers, chunks: [chunked ? joinChunks(body) : body] };
}

function joinChunks(body) {
  const bytes = Buffer.from(body, "utf8");
  const pieces = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (lineEnd < 0 || !(size > 0)) break;
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(pieces).toString("utf8");
}
