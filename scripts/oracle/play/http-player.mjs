import { Journal } from "./journal.mjs";
import { createServer } from "./kinds.mjs";
import { during, quiet, settles } from "./quiet.mjs";
import { sendBySocket, startListener } from "./sockets.mjs";
import { sortedStats, Values } from "./values.mjs";

/**
 * Plays a script of HTTP requests against a new server and records every response.
 *
 * A step is a request (`{ method, url, headers, body }`), with `open: true` if it stays open while the script
 * continues, `{ act }` for an action of the server's author, or `{ leave: n }` when the client of the n-th request
 * leaves.
 * @param {Record<string, any>} sdk
 * @param {any} scenario
 */
export async function playHttp(sdk, scenario) {
  const journal = new Journal();
  const { server, act } = createServer(sdk, scenario.server, journal);
  const wire = await WIRES[scenario.wire](sdk, server);
  journal.port = wire.port;
  const values = new Values();
  const sent = [];
  for (const step of scenario.steps) {
    if (step.act !== undefined) act(step.act);
    else if (step.leave !== undefined) sent[step.leave].leave();
    else sent.push(wire.send(values.fill(step)));
    await wire.settle(sent.at(-1), step);
    for (const one of sent) values.take(one.answer());
  }
  journal.answer({ stats: sortedStats(server) });
  for (const one of sent) one.leave();
  await wire.end(server);
  for (const one of sent) journal.answer(one.answer());
  return journal;
}

/** Functions that send on each wire. `leave` aborts requests that are still open. */
const WIRES = {
  async handle(sdk, server) {
    return {
      send(step) {
        const exchange = sdk.createArrayExchange({ ...step, headers: flat(step.headers) });
        let failure;
        try {
          server.handle(exchange);
        } catch (error) {
          failure = String(error);
        }
        let left = false;
        return {
          done: exchange.done,
          answer: () => ({
            status: exchange.status ?? null,
            headers: exchange.headers,
            chunks: exchange.chunks,
            left,
            failure,
          }),
          leave() {
            left = left || !exchange.answered;
            exchange.disconnect();
          },
        };
      },
      settle,
      end,
    };
  },

  async fetch(_sdk, server) {
    return {
      send(step) {
        const abort = new AbortController();
        const answer = { status: null, headers: [], chunks: [] };
        const done = receive(server.fetch(toRequest(step, abort.signal)), answer);
        return { done, answer: () => answer, leave: () => abort.abort() };
      },
      settle,
      end,
    };
  },

  async node(sdk, server) {
    const listener = await startListener(sdk, server);
    return {
      port: listener.port,
      send: (step) => sendBySocket(listener.port, step),
      async settle(last, step) {
        if (step.act !== undefined || step.leave !== undefined) await quiet();
        else await (step.open ? last.heard(step.open) : last.done);
      },
      async end() {
        await listener.close();
        await quiet(3);
      },
    };
  },
};

async function settle(last, step) {
  if (last !== undefined && !step.open && step.act === undefined && !step.together) await settles(last.done);
  if (!step.together) await quiet();
}

async function end(server) {
  await quiet(3);
  await during(server.close());
  await quiet(3);
}

/** Joins repeated headers as HTTP does. */
function flat(headers) {
  const merged = {};
  for (const [name, value] of Object.entries(headers ?? {}))
    merged[name] = Array.isArray(value) ? value.join(", ") : value;
  return merged;
}

function toRequest({ method = "POST", url = "/mcp", headers = {}, body }, signal) {
  const list = Object.entries({ host: "localhost", ...headers }).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined)
      .map((one) => [name, one]),
  );
  const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  const init = { method, headers: list, signal, ...(method === "GET" || method === "HEAD" ? {} : { body: text }) };
  return new Request(new URL(url, "http://localhost"), init);
}

async function receive(promise, answer) {
  try {
    const response = await promise;
    answer.status = response.status;
    answer.headers = [...response.headers];
    if (response.body === null) return;
    const decoder = new TextDecoder();
    for await (const chunk of response.body) answer.chunks.push(decoder.decode(chunk, { stream: true }));
  } catch (error) {
    answer.failure = String(error);
  }
}
