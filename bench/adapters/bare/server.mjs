import { randomUUID } from "node:crypto";
import { handlers } from "../../workload/app.mjs";
import { listen } from "../listen.mjs";
import { answerTo, progressOf, wantsProgress, wantsSlow } from "./answers.mjs";

export function serveHttp({ modern, json }) {
  return listen((request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const message = JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      void reply(response, message, { modern, json });
    });
  });
}

async function reply(response, message, { modern, json }) {
  if (message.id === undefined) return response.writeHead(202).end();
  if (wantsSlow(message)) return slow(response, message);
  const session = message.method === "initialize" ? { "mcp-session-id": randomUUID() } : undefined;
  const eventful = !json && (wantsProgress(message) || !modern);
  if (!eventful) {
    const body = JSON.stringify(answerTo(message, modern));
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...session };
    return response.writeHead(200, headers).end(body);
  }
  response.writeHead(200, { "content-type": "text/event-stream", ...session });
  if (!wantsProgress(message)) return response.end(eventOf(answerTo(message, modern)));
  const answer = await progressOf(message, modern, (note) => void response.write(eventOf(note)));
  response.end(eventOf(answer));
}

const eventOf = (message) => `data: ${JSON.stringify(message)}\n\n`;

async function slow(response, message) {
  const abort = new AbortController();
  response.on("close", () => abort.abort());
  await handlers.slow(message.params.arguments.tag, abort.signal);
  response.end();
}

export function serveStdio({ modern }) {
  let rest = "";
  const write = (message) => void process.stdout.write(`${JSON.stringify(message)}\n`);
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.id === undefined) continue;
      if (wantsProgress(message)) void progressOf(message, modern, write).then(write);
      else write(answerTo(message, modern));
    }
  });
}
