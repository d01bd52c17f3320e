import { once } from "node:events";
import { EARLY_CANCELS, serverLimits, TIMES } from "../limits.mjs";
import { initialize, openSession, until } from "./flood.mjs";

/** Maximum number of concurrent requests. */
const AT_ONCE = 32;

/** Floods with handshakes that nothing follows. The limit holds, and the active client keeps its session. */
export async function floodHandshakes(lane, tally) {
  const total = TIMES * serverLimits.maxSessions;
  const refused = await many(lane, total, () => lane.world.post(initialize("2025-06-18")), {
    isServed: ({ status }) => status === 200,
    isRefused: ({ status, header }) => status === 503 && header("retry-after") !== null,
  });
  const { sessions } = lane.world.stats();
  if (sessions > serverLimits.maxSessions)
    lane.tally.surprise(lane.doing, `${sessions} sessions are open, not ${serverLimits.maxSessions}`);
  await lane.attempt("call in a flood of handshakes", {}, async (client) => void (await client.ping()));
  tally.count(total, total - refused, refused);
}

/** Floods with streams of HTTP+SSE, each of which is a session. */
export async function floodStreams(lane, tally) {
  const total = TIMES * serverLimits.maxSessions;
  const begin = `GET ${lane.world.path} HTTP/1.1\r\nhost: 127.0.0.1:${lane.world.port}\r\naccept: text/event-stream\r\n\r\n`;
  const sockets = openMany(lane, total, () => begin);
  await until(lane, "each stream of a flood is opened or refused", () => sockets.every(({ said }) => isStatus(said)));
  const refused = judge(lane, sockets, 503);
  await endMany(sockets);
  tally.count(total, total - refused, refused);
}

/** Floods with batches of ten times the allowed messages. */
export async function floodBatches(lane, tally) {
  const total = 20;
  const session = await openSession(lane);
  const batch = pings();
  const refused = await many(lane, total, () => lane.world.post(batch, session), {
    isServed: () => false,
    isRefused: ({ status, text }) => status === 400 && text.includes("error"),
  });
  await lane.world.delete?.(session);
  tally.count(total, total - refused, refused);
}

/** Floods a channel with such batches. Each gets one error. */
export async function floodChannelBatches(lane, tally) {
  const total = 20;
  const frames = [];
  const raw = await lane.world.openRaw((text) => frames.push(JSON.parse(text)));
  raw.send(initialize("2025-03-26"));
  await until(lane, "a handshake is answered", () => frames.length === 1);
  raw.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const batch = pings();
  for (let time = 0; time < total; time++) {
    lane.tally.calls++;
    raw.send(batch);
  }
  const refused = () => frames.filter((frame) => frame.error !== undefined).length;
  await until(lane, "each array is refused", () => refused() >= total);
  lane.tally.refused += refused();
  await raw.close();
  tally.count(total, total - refused(), refused());
}

/** Floods with cancellations of requests that never arrive. All are accepted, and few are kept. */
export async function floodCancels(lane, tally) {
  const items = serverLimits.maxBatchItems;
  const total = Math.ceil((TIMES * EARLY_CANCELS) / items);
  const session = await openSession(lane);
  let next = 0;
  const cancel = () => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: `never ${next++} ${"x".repeat(80)}` },
  });
  await many(lane, total, () => lane.world.post(Array.from({ length: items }, cancel), session), {
    isServed: ({ status }) => status === 202,
  });
  await lane.world.delete?.(session);
  tally.count(next, next, 0);
}

/** Floods with bodies whose last byte does not arrive. */
export async function floodBodies(lane, tally) {
  const bound = serverLimits.maxBodiesBytes;
  const piece = Math.floor(serverLimits.maxBodyBytes / 4);
  const total = Math.ceil((TIMES * bound) / piece);
  const headers = [
    `POST /mcp HTTP/1.1`,
    `host: 127.0.0.1:${lane.world.port}`,
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    `content-length: ${2 * piece}`,
  ];
  const sockets = openMany(lane, total, () => `${headers.join("\r\n")}\r\n\r\n${" ".repeat(piece)}`);
  const most = Math.floor(bound / piece);
  await until(lane, "the bodies of a flood are under way or refused", () => {
    return (
      sockets.every(({ socket }) => socket.bytesWritten >= piece) &&
      sockets.filter(({ said }) => isStatus(said)).length >= total - most
    );
  });
  const refused = judge(lane, sockets, 503);
  await endMany(sockets);
  tally.count(total, total - refused, refused);
}

/** Floods with bodies of ten times the allowed size. */
export async function floodLargeBodies(lane, tally) {
  const total = 5;
  const text = "x".repeat(TIMES * serverLimits.maxBodyBytes);
  const large = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { text } } };
  // The server may close the connection while the rest of the body is being sent.
  const post = () => lane.world.post(large).catch(({ code }) => ({ status: code, text: "" }));
  const refused = await many(lane, total, post, {
    isServed: () => false,
    isRefused: ({ status }) => status === 413 || status === "EPIPE" || status === "ECONNRESET",
  });
  tally.count(total, total - refused, refused);
}

/** Returns a batch of ten times the allowed messages. */
function pings() {
  const { maxBatchItems } = serverLimits;
  return Array.from({ length: TIMES * maxBatchItems }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
}

/** Makes many requests, a few at a time. Returns the number of refused ones. */
async function many(lane, total, send, { isServed, isRefused = () => false }) {
  let left = total;
  let refused = 0;
  const work = async () => {
    while (left-- > 0) {
      lane.tally.calls++;
      try {
        const answer = await send();
        if (isServed(answer)) lane.tally.ok++;
        else if (isRefused(answer)) {
          lane.tally.refused++;
          refused++;
        } else lane.tally.surprise(lane.doing, `answered with ${answer.status} ${answer.text.slice(0, 200)}`);
      } catch (error) {
        lane.tally.surprise(lane.doing, error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return refused;
}

/** Opens plain connections that begin a request, and collects the response of each. */
function openMany(lane, total, begin) {
  return Array.from({ length: total }, () => {
    const socket = lane.world.openSocket();
    const one = { socket, said: "" };
    socket.on("error", () => {});
    socket.setEncoding("latin1").on("data", (text) => {
      if (one.said.length < 1_000) one.said += text;
    });
    socket.write(begin());
    return one;
  });
}

const isStatus = (said) => said.startsWith("HTTP/1.1 ") && said.length >= 12;

/** Records each connection as served or refused. Returns the number of refused ones. */
function judge(lane, sockets, status) {
  let refused = 0;
  for (const { said } of sockets) {
    lane.tally.calls++;
    if (said.startsWith(`HTTP/1.1 ${status}`)) refused++;
    else if (said === "" || said.startsWith("HTTP/1.1 200")) lane.tally.ok++;
    else lane.tally.surprise(lane.doing, said.slice(0, 200));
  }
  lane.tally.refused += refused;
  return refused;
}

async function endMany(sockets) {
  const open = sockets.filter(({ socket }) => !socket.closed);
  await Promise.all(
    open.map(({ socket }) => {
      const closed = once(socket, "close");
      socket.destroy();
      return closed;
    }),
  );
}
