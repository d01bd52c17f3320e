import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import {
  type Answers,
  type CallOptions,
  type Choice,
  type Driver,
  LogBook,
  type ProgressReport,
  type Target,
  textOf,
  toReply,
} from "../driver.js";
import { type PeerSdk, peerOf } from "../peers.js";

/**
 * Opens a client in another language. Its program reads commands and writes events, one line of JSON each:
 *
 * - `{version, server}` is the first event, after the connection. A program that cannot connect writes the reason to
 *   standard error and ends.
 * - `{id, method, params, timeoutMs?, progress?}` is a command. Its answer is `{id, value}` with the result of the SDK, or
 *   `{id, error: {message, code?}}`. If `progress` is true, `{id, progress}` comes before the answer.
 * - A method is one of MCP, or one of these: `answer` sets the reply to elicitations; `log` calls a tool at log level info;
 *   `watch` and `unwatch` begin and end a subscription to changes of tools or, with `uri`, of a resource (Python only); `close` closes the client.
 * - `{id, method: "cancel"}` cancels the command of that id. The answer to the command is then an error.
 * - `{log}` and `{changed}` are notifications of the server.
 *
 * The program answers sampling with the question and ` bowline`, and roots with `file:///harbour`. It ends when standard
 * input ends.
 */
export async function openProcess(sdk: PeerSdk, target: Target, choice: Choice, answers: Answers): Promise<Driver> {
  const { drive } = await peerOf(sdk);
  const goal = target.wire === "http" ? [target.url] : [target.command, ...target.args];
  const program = new ClientProgram([...drive, choice, ...goal]);
  const { version, server } = await program.opened;
  const list = async <K extends string>(method: string, items: string, name: K) => {
    const result = (await program.do(method, {})) as Record<string, Record<K, string>[]>;
    return (result[items] ?? []).map((item) => item[name]);
  };
  return {
    version,
    serverName: server ?? undefined,
    isUnordered: sdk === "rust",
    listTools: () => list("tools/list", "tools", "name"),
    async callTool(name, args, options) {
      await program.do("answer", answers.elicit(""));
      return toReply((await program.do("tools/call", { name, arguments: args }, options)) as object);
    },
    listResources: () => list("resources/list", "resources", "uri"),
    listTemplates: () => list("resources/templates/list", "resourceTemplates", "uriTemplate"),
    async readResource(uri) {
      return textOf(((await program.do("resources/read", { uri })) as { contents: object[] }).contents);
    },
    listPrompts: () => list("prompts/list", "prompts", "name"),
    async getPrompt(name, args) {
      const { messages } = (await program.do("prompts/get", { name, arguments: args })) as { messages: Message[] };
      return textOf(messages.map(({ content }) => content));
    },
    async complete(name, argument, value) {
      const params = { ref: { type: "ref/prompt", name }, argument: { name: argument, value } };
      return ((await program.do("completion/complete", params)) as { completion: { values: string[] } }).completion
        .values;
    },
    async logsOf(tool, last) {
      await program.do("log", { name: tool, arguments: {} });
      return program.logs.upTo(last);
    },
    async watchTools() {
      const changed = program.nextChange();
      await program.do("watch", {});
      return { changed, close: async () => void (await program.do("unwatch", {})) };
    },
    async watchResource(uri) {
      const changed = program.nextChange();
      await program.do("watch", { uri });
      return { changed, close: async () => void (await program.do("unwatch", { uri })) };
    },
    codeOf: (error) => (error instanceof PeerError ? error.code : undefined),
    close: () => program.close(),
  };
}

const PATIENCE_MS = 10_000;

interface Message {
  readonly content: object;
}

interface Opened {
  readonly version: string;
  readonly server: string | null;
}

interface Line extends Partial<Opened> {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: { readonly message: string; readonly code?: number };
  readonly progress?: ProgressReport;
  readonly log?: unknown;
  readonly changed?: string;
}

interface Waiting {
  readonly onProgress: CallOptions["onProgress"];
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Error of the other SDK's client. */
export class PeerError extends Error {
  constructor(
    message: string,
    readonly code?: number,
  ) {
    super(message);
  }
}

/** Process of a client in another language. */
export class ClientProgram {
  readonly logs = new LogBook();
  readonly opened: Promise<Opened>;
  readonly #child;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #onChange: () => void = () => {};

  constructor([file, ...args]: string[]) {
    this.#child = spawn(file as string, args);
    this.#ended = once(this.#child, "close");
    let complaint = "";
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = `${complaint}${text}`.slice(-2000);
    });
    this.opened = new Promise((resolve, reject) => {
      eachLine(this.#child.stdout, (text) => {
        const line = JSON.parse(text) as Line;
        if (line.version === undefined) this.#take(line);
        else resolve(line as Opened);
      });
      const fail = () => {
        const error = new Error(`the client ended: ${complaint.trim()}`);
        reject(error);
        for (const waiting of this.#waiting.values()) waiting.reject(error);
      };
      this.#ended.then(fail, fail);
    });
  }

  /** Sends a command and returns its value. */
  async do(method: string, params: object, { signal, timeoutMs, onProgress }: CallOptions = {}): Promise<unknown> {
    const id = ++this.#lastId;
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { onProgress, resolve, reject }));
    this.#send({ id, method, params, timeoutMs, progress: onProgress !== undefined });
    const cancel = () => this.#send({ id, method: "cancel" });
    signal?.addEventListener("abort", cancel);
    try {
      return await answered;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#waiting.delete(id);
    }
  }

  nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }

  /** Closes the client, then ends the program. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE_MS);
    await this.do("close", {});
    this.#child.stdin.end();
    await this.#ended;
    clearTimeout(timer);
    if (this.#child.signalCode === "SIGKILL") throw new Error("the client did not end with its input");
  }

  #send(command: object): void {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  #take({ id, value, error, progress, log, changed }: Line): void {
    if (log !== undefined) return this.logs.add(log);
    if (changed !== undefined) return this.#onChange();
    const waiting = this.#waiting.get(id as number);
    if (progress !== undefined) waiting?.onProgress?.(progress);
    else if (error !== undefined) waiting?.reject(new PeerError(error.message, error.code));
    else waiting?.resolve(value);
  }
}

/** Splits at line feeds only: `node:readline` also splits at U+2028 and U+2029, which JSON may contain. */
function eachLine(input: Readable, take: (line: string) => void): void {
  let rest = "";
  input.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) take(line);
  });
}
