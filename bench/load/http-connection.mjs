import { connect } from "node:net";

const HEAD = 0;
const LENGTH = 1;
const SIZE = 2;
const CHUNK = 3;
const AFTER_CHUNK = 4;
const TRAILER = 5;

/**
 * Keep-alive HTTP/1.1 connection on a plain socket, with one request at a time. It costs less than any HTTP client, so
 * that the server is the bottleneck.
 */
export class HttpConnection {
  #port;
  #socket;
  #pending;
  #state = HEAD;
  #head = "";
  #line = "";
  #left = 0;
  #parts;
  #status = 0;
  #headText = "";
  #bytes = 0;
  dead = true;
  onHead;

  constructor(port) {
    this.#port = port;
  }

  open() {
    this.dead = false;
    this.#state = HEAD;
    this.#head = "";
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    this.#socket = socket;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => this.#socket === socket && this.#fail(error));
    socket.on("close", () => {
      if (this.#socket !== socket) return; // it was opened again
      this.dead = true;
      this.#fail(new Error("the server closed the connection"));
    });
    return new Promise((resolve, reject) => {
      socket.once("connect", () => resolve(this));
      socket.once("error", reject);
    });
  }

  /** True if nothing of the response to the last request has arrived. */
  get unanswered() {
    return this.#state === HEAD && this.#head === "" && this.#bytes === 0;
  }

  /** Resolves with the complete response: `{ status, head, bytes, text }`. `text` is present only with `keep`. */
  request(method, headers, body, keep = true) {
    return this.send(`${headOf(this.#port, method, headers, Buffer.byteLength(body))}${body}`, keep);
  }

  send(text, keep = false) {
    if (this.dead) return Promise.reject(new Error("the connection is closed"));
    this.#parts = keep ? [] : undefined;
    this.#bytes = 0;
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#socket.write(text, "latin1");
    });
  }

  close() {
    this.#pending = undefined;
    this.#socket?.destroy();
  }

  #fail(error) {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(error);
  }

  #finish() {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#state = HEAD;
    const text = this.#parts && Buffer.concat(this.#parts).toString();
    pending?.resolve({ status: this.#status, head: this.#headText, bytes: this.#bytes, text });
  }

  #take(chunk, from, length) {
    this.#bytes += length;
    this.#parts?.push(Buffer.from(chunk.subarray(from, from + length)));
    this.#left -= length;
  }

  #read(chunk) {
    for (let from = 0; from < chunk.length; ) from = this.#step(chunk, from);
  }

  /** Reads one part of a response and returns the position of the next. */
  #step(chunk, from) {
    if (this.#state === HEAD) return this.#readHead(chunk, from);
    if (this.#state === SIZE) return this.#readSize(chunk, from);
    if (this.#state === LENGTH || this.#state === CHUNK) {
      const length = Math.min(this.#left, chunk.length - from);
      this.#take(chunk, from, length);
      if (this.#left > 0) return from + length;
      if (this.#state === LENGTH) this.#finish();
      else this.#state = AFTER_CHUNK;
      return from + length;
    }
    const end = chunk.indexOf(10, from);
    if (end < 0) return chunk.length;
    if (this.#state === AFTER_CHUNK) this.#state = SIZE;
    else this.#finish();
    return end + 1;
  }

  #readHead(chunk, from) {
    const known = this.#head.length;
    this.#head += chunk.latin1Slice(from);
    const end = this.#head.indexOf("\r\n\r\n");
    if (end < 0) return chunk.length;
    this.#headText = this.#head.slice(0, end);
    this.#head = "";
    this.#status = Number(this.#headText.slice(9, 12));
    this.onHead?.(this.#status);
    const lower = this.#headText.toLowerCase();
    const length = lower.indexOf("\r\ncontent-length: ");
    if (lower.includes("\r\ntransfer-encoding: chunked")) {
      this.#state = SIZE;
      this.#line = "";
    } else {
      this.#left = length < 0 ? 0 : Number.parseInt(lower.slice(length + 18), 10);
      if (this.#left === 0) this.#finish();
      else this.#state = LENGTH;
    }
    return from + end + 4 - known;
  }

  #readSize(chunk, from) {
    const end = chunk.indexOf(10, from);
    this.#line += chunk.latin1Slice(from, end < 0 ? chunk.length : end);
    if (end < 0) return chunk.length;
    this.#left = Number.parseInt(this.#line, 16);
    this.#line = "";
    this.#state = this.#left === 0 ? TRAILER : CHUNK;
    return end + 1;
  }
}

/** Returns the head of a request. A caller that repeats a request builds it once. */
export function headOf(port, method, headers, length) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines.join("")}content-length: ${length}\r\n\r\n`;
}

export const headerOf = (head, name) => new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1]?.trim();
