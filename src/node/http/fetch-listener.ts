import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** Server that responds to web requests. */
export interface FetchServerLike {
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

const HIGH_WATER_MARK = 64 * 1024;
/** Time for which a client that sends too much may continue before it is disconnected. */
const LINGER_MS = 500;

/** Converts a function of web requests to a listener for `node:http`. */
export function toFetchListener(fetch: FetchServerLike["fetch"]): RequestListener {
  return (incoming, outgoing) => {
    respond(fetch, incoming, outgoing).catch((error: unknown) => {
      if (outgoing.headersSent) outgoing.destroy(error instanceof Error ? error : undefined);
      else outgoing.writeHead(500, { "content-type": "text/plain" }).end("Internal error");
    });
  };
}

async function respond(
  fetch: FetchServerLike["fetch"],
  incoming: IncomingMessage & { readonly body?: unknown; readonly originalUrl?: string },
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort(new DOMException("The client disconnected", "AbortError"));
  });
  const request = toRequest(incoming, gone.signal);
  if (request === undefined)
    return void outgoing
      .writeHead(400, { "content-type": "text/plain" })
      .end("Bad request: the method or the URL is not valid");
  await write(await fetch(request), outgoing, incoming);
}

/** Converts a request. Returns undefined for a method or target that a web request cannot have. */
function toRequest(
  incoming: IncomingMessage & { readonly body?: unknown; readonly originalUrl?: string },
  signal: AbortSignal,
): Request | undefined {
  const { method = "GET", socket, body } = incoming;
  const scheme = "encrypted" in socket ? "https" : "http";
  const target = incoming.originalUrl ?? incoming.url ?? "/";
  const host = incoming.headers.host ?? incoming.headers[":authority"] ?? "localhost";
  try {
    const url = new URL(target.startsWith("/") ? `${scheme}://${String(host)}${target}` : target);
    const carries = method !== "GET" && method !== "HEAD";
    const init: RequestInit & { duplex?: "half" } = { method, headers: toHeaders(incoming), signal };
    if (carries && body === undefined) init.body = toStream(incoming);
    else if (carries) init.body = toBody(body, incoming.headers["content-type"]);
    return new Request(url, { ...init, duplex: "half" } as RequestInit);
  } catch {
    return undefined;
  }
}

/** Serializes a body that a parser has already read, in its original content type. Text and bytes stay unchanged. */
function toBody(body: unknown, type = ""): BodyInit {
  if (typeof body === "string" || body instanceof Uint8Array) return body as BodyInit;
  if (!type.includes("x-www-form-urlencoded")) return JSON.stringify(body);
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body as object)) {
    for (const item of Array.isArray(value) ? value : [value]) form.append(name, String(item));
  }
  return form.toString();
}

function toHeaders({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (!name.startsWith(":")) headers.append(name, rawHeaders[at + 1] as string);
  }
  return headers;
}

/** Returns the body as a stream. Cancelling it keeps the connection open, since the response is still to be sent. */
function toStream(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let stop = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const onData = (chunk: Uint8Array) => {
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
        };
        const onEnd = () => {
          stop();
          controller.close();
        };
        const onCut = (cause?: unknown) => {
          stop();
          controller.error(cause ?? new DOMException("The client disconnected", "AbortError"));
        };
        stop = () => {
          incoming.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut);
        };
        incoming.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut);
        incoming.pause();
      },
      pull: () => void incoming.resume(),
      cancel() {
        stop();
        incoming.pause();
      },
    },
    { highWaterMark: HIGH_WATER_MARK, size: (chunk) => chunk.byteLength },
  );
}

async function write(response: Response, outgoing: ServerResponse, incoming: IncomingMessage): Promise<void> {
  const fields: Record<string, string | string[]> = {};
  for (const [name, value] of response.headers) fields[name] = value;
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) fields["set-cookie"] = cookies;
  const unread = !incoming.complete && incoming.httpVersionMajor < 2;
  if (unread) fields.connection = "close";
  outgoing.writeHead(response.status, fields);
  for await (const chunk of response.body ?? []) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(chunk)) await new Promise((resolve) => outgoing.once("drain", resolve).once("close", resolve));
  }
  if (unread) await linger(incoming);
  outgoing.end();
}

/** Discards incoming data for a moment, since closing the connection while the client sends would lose the response. */
function linger(incoming: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, LINGER_MS);
    timer.unref();
    incoming.once("end", done).once("close", done).once("error", done).resume();
  });
}
