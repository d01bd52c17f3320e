import { Agent, request } from "node:http";
import { resources } from "../../workload/app.mjs";
import { envelope, headersOf, messagesIn } from "../../workload/requests.mjs";
import { answerTo, progressOf, wantsProgress } from "./answers.mjs";

/** Client of plain Node: a JSON round trip in this process, or Node's own HTTP client. */
export async function connect(wire, { url } = {}) {
  const send = wire.transport === "memory" ? inProcess(wire) : overHttp(wire, new URL(url));
  let id = 0;
  const call = (method, params, meta, onNote) => {
    const _meta = wire.modern ? { ...envelope, ...meta } : meta;
    return send({ jsonrpc: "2.0", id: ++id, method, params: _meta ? { ...params, _meta } : params }, onNote);
  };
  return {
    echo: (text) => call("tools/call", { name: "echo", arguments: { text } }),
    list: () => call("tools/list", {}),
    read1k: () => call("resources/read", { uri: resources[0].uri }),
    read1m: () => call("resources/read", { uri: resources[1].uri }),
    progress: (onNote) => call("tools/call", { name: "progress", arguments: {} }, { progressToken: id + 1 }, onNote),
  };
}

/** Stringifies, parses, dispatches, stringifies and parses, with one turn of the microtask queue each way. */
function inProcess({ modern }) {
  return async (message, onNote) => {
    const received = JSON.parse(JSON.stringify(message));
    await null;
    const answer = wantsProgress(received)
      ? await progressOf(received, modern, (note) => onNote(JSON.parse(JSON.stringify(note))))
      : answerTo(received, modern);
    const text = JSON.stringify(answer);
    await null;
    return JSON.parse(text).result;
  };
}

function overHttp(wire, { hostname, port, pathname }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return (message, onNote) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(message);
      const headers = { ...headersOf(wire, message), "content-length": Buffer.byteLength(body) };
      const sent = request({ agent, hostname, port, path: pathname, method: "POST", headers }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => {
          const messages = messagesIn(text);
          const answer = messages.pop();
          for (const note of messages) onNote?.(note);
          resolve(answer.result);
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
}
