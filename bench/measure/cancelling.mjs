import { peers } from "../adapters/peers.mjs";
import { HttpConnection } from "../load/http-connection.mjs";
import { clock } from "../workload/app.mjs";
import { bodies, cancellation, headersOf, slowCall } from "../workload/requests.mjs";
import { wires } from "../workload/wires.mjs";
import { clientSubject, rawSubject } from "./subjects.mjs";

/**
 * A way to cancel: `{ begin(tags), abort(), host, sides, stop }`. `begin` sends slow calls. `abort` cancels them and
 * returns the times by tag. `host` is the process whose handlers are cancelled, or undefined if it is out of reach.
 * `sides` are the processes that could leak.
 */

export async function cancellingByHand(peer, wire) {
  const subject = await rawSubject(peer, wire);
  const { child, stop } = subject;
  const ways = { stdio: onPipe, close: onClose, notify: onNotification };
  const way = ways[wires[wire].transport === "stdio" ? "stdio" : peers[peer].cancels[wire]];
  return { ...(await way(subject, peer, wires[wire])), host: child, sides: { server: child }, stop };
}

export async function cancellingByClient(peer, wire) {
  const { transport } = wires[wire];
  const server = transport === "http" ? await rawSubject(peer, wire) : undefined;
  const { child, stop } = await clientSubject(peer, wire, { server });
  return {
    begin: (tags) => child.ask("begin", tags),
    abort: () => child.ask("abort"),
    host: transport === "stdio" ? undefined : (server?.child ?? child),
    sides: server === undefined ? { client: child } : { client: child, server: server.child },
    stop,
  };
}

function onPipe({ load }, _, wire) {
  let begun = [];
  return {
    begin(tags) {
      begun = tags.map((tag) => ({ tag, ...bodies(wire, slowCall(tag))() }));
      for (const { text } of begun) load.write(text);
    },
    abort() {
      const times = {};
      for (const { tag, id } of begun) {
        times[tag] = clock();
        load.write(cancellation(id));
      }
      return times;
    },
  };
}

/** Each call has its own connection, whose end cancels it. The load's own connection exists before and after. */
async function onClose({ port, load }, peer, wire) {
  const facts = { ...peers[peer].facts, session: (await load.first()).session };
  let begun = [];
  return {
    async begin(tags) {
      begun = await beginOn(port, tags, wire, facts);
    },
    abort() {
      const times = {};
      for (const { tag, connection } of begun) {
        times[tag] = clock();
        connection.close();
      }
      return times;
    },
  };
}

/** Each call has its own connection, and a second connection sends the cancellation. */
async function onNotification({ port, load }, peer, wire) {
  const facts = { ...peers[peer].facts, session: (await load.first()).session };
  const headers = headersOf(wire, { method: "notifications/cancelled" }, facts);
  let begun = [];
  return {
    async begin(tags) {
      begun = await beginOn(port, tags, wire, facts);
      for (const call of begun) call.second = await new HttpConnection(port).open();
    },
    async abort() {
      const times = {};
      const cancel = async ({ tag, id, connection, second }) => {
        times[tag] = clock();
        await second.request("POST", headers, cancellation(id));
        second.close();
        connection.close();
      };
      await Promise.all(begun.map(cancel));
      return times;
    },
  };
}

function beginOn(port, tags, wire, facts) {
  const begin = async (tag) => {
    const call = slowCall(tag);
    const { id, text } = bodies(wire, call)();
    const connection = await new HttpConnection(port).open();
    connection.request("POST", headersOf(wire, call, facts), text).catch(() => undefined);
    return { tag, id, connection };
  };
  return Promise.all(tags.map(begin));
}
