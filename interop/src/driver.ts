/** Interface of the checks to a client of any SDK. */
export interface Driver {
  /** The negotiated protocol version. */
  readonly version: string | undefined;
  readonly serverName: string | undefined;
  /** Id of the session, if the client tells it. */
  readonly sessionId?: string | undefined;
  /** True if notifications can reach the user out of order. */
  readonly isUnordered?: boolean;
  listTools(): Promise<string[]>;
  callTool(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<ToolReply>;
  listResources(): Promise<string[]>;
  listTemplates(): Promise<string[]>;
  readResource(uri: string): Promise<string>;
  listPrompts(): Promise<string[]>;
  getPrompt(name: string, args: Record<string, string>): Promise<string>;
  complete(prompt: string, argument: string, value: string): Promise<readonly string[]>;
  /** Calls a tool at log level info; returns the log messages up to and including `last`. */
  logsOf(tool: string, last: string): Promise<unknown[]>;
  /** Subscribes to changes of the list of tools. */
  watchTools(): Promise<Watch>;
  /** Subscribes to updates of a resource. */
  watchResource?(uri: string): Promise<Watch>;
  /** Returns the JSON-RPC error code of a rejected call. */
  codeOf(error: unknown): number | undefined;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: ProgressReport) => void;
}

export interface ProgressReport {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface ToolReply {
  readonly text: string;
  readonly structured: unknown;
  readonly isError: boolean;
}

export interface Watch {
  readonly changed: Promise<void>;
  close(): Promise<void>;
}

/** Answers of a client to the requests of a server. */
export interface Answers {
  elicit(message: string): ElicitReply;
  sample(question: string): string;
  readonly roots: { uri: string; name: string }[];
}

export type ElicitReply =
  | { readonly action: "accept"; readonly content: Record<string, string | number | boolean | string[]> }
  | { readonly action: "decline" };

/** A server to connect to: a program to start, or an address. */
export type Target =
  | { readonly wire: "stdio"; readonly command: string; readonly args: string[]; readonly env?: Record<string, string> }
  | { readonly wire: "http"; readonly url: string };

export type Era = "legacy" | "modern";
/** Era that a client uses; `auto` negotiates. */
export type Choice = Era | "auto";

/** Opens a client of one SDK. */
export type OpenDriver = (target: Target, choice: Choice, answers: Answers) => Promise<Driver>;

interface Content {
  readonly type: string;
  readonly text?: unknown;
}

/** Converts the result of `tools/call` of any SDK. */
export function toReply(result: object): ToolReply {
  const { content, structuredContent, isError } = result as Record<string, unknown>;
  return { text: textOf(content as Content[]), structured: structuredContent, isError: isError === true };
}

/** Joins the text of content blocks or resource contents. */
export function textOf(blocks: readonly unknown[]): string {
  return blocks.map((block) => (block as Content).text ?? "").join("\n");
}

/** Collects log messages. They can arrive on another stream than the result of the call, and after it. */
export class LogBook {
  readonly #entries: unknown[] = [];
  #wake: () => void = () => {};

  /** Adds a message. FastMCP's servers send an object with the text in `msg`. */
  add(entry: unknown): void {
    this.#entries.push((entry as { msg?: unknown } | null)?.msg ?? entry);
    this.#wake();
  }

  /** Returns all messages once `last` has arrived. */
  async upTo(last: string): Promise<unknown[]> {
    while (!this.#entries.includes(last)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#entries.splice(0);
  }
}
