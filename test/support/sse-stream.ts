import type { TestContext } from "node:test";

export interface SseBlock {
  readonly event: string | undefined;
  readonly data: string | undefined;
  /** The text of the block as it came. */
  readonly raw: string;
}

/** The stream of the 2024-11-05 transport, read block by block, and the way to post. */
export class SseStream {
  readonly response: Response;
  readonly url: URL;
  endpoint = "";
  readonly #headers: Record<string, string>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(response: Response, url: URL, headers: Record<string, string>) {
    this.response = response;
    this.url = url;
    this.#headers = headers;
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  /** Opens a stream and reads where to post. */
  static async open(t: TestContext, url: string | URL, headers: Record<string, string> = {}): Promise<SseStream> {
    const at = new URL(url);
    const response = await fetch(at, { headers: { accept: "text/event-stream", ...headers } });
    const stream = new SseStream(response, at, headers);
    t.after(() => stream.close());
    const first = await stream.next();
    if (first?.event !== "endpoint") throw new Error(`the first event is ${first?.raw}`);
    stream.endpoint = first.data ?? "";
    return stream;
  }

  async next(): Promise<SseBlock | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const raw = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return toBlock(raw);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a test expects to find is checked by its assertions
  async message(): Promise<any> {
    for (;;) {
      const block = await this.next();
      if (block === undefined) return undefined;
      if (block.event === "message") return JSON.parse(block.data ?? "");
    }
  }

  get address(): URL {
    return new URL(this.endpoint, this.url);
  }

  post(body: unknown, headers: Record<string, string> = {}, address = this.address): Promise<Response> {
    return fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", ...this.#headers, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  /** Posts a request and reads the stream up to its answer. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async request(id: number, method: string, params: object = {}): Promise<any> {
    await this.post({ jsonrpc: "2.0", id, method, params });
    for (;;) {
      const message = await this.message();
      if (message === undefined || message.id === id) return message;
    }
  }

  async initialize(capabilities: object = {}): Promise<void> {
    const params = { protocolVersion: "2024-11-05", capabilities, clientInfo: { name: "raw", version: "1" } };
    await this.request(0, "initialize", params);
    await this.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }
}

function toBlock(raw: string): SseBlock {
  const field = (name: string) =>
    raw
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  return { event: field("event"), data: field("data"), raw };
}
