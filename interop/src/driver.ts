/** What a check knows of a client, whichever SDK it comes from. */
export interface Driver {
  /** The protocol version that was agreed on. */
  readonly version: string | undefined;
  readonly serverName: string | undefined;
  /** Whether notifications reach the user in another order than that of the wire. */
  readonly isUnordered?: boolean;
  listTools(): Promise<string[]>;
  callTool(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<ToolReply>;
  listResources(): Promise<string[]>;
  listTemplates(): Promise<string[]>;
  readResource(uri: string): Promise<string>;
  listPrompts(): Promise<string[]>;
  getPrompt(name: string, args: Record<string, string>): Promise<string>;
  complete(prompt: string, argument: string, value: string): Promise<readonly string[]>;
  /** Calls a tool with log messages of level info and above wanted; gives what was logged up to the last one. */
  logsOf(tool: string, last: string): Promise<unknown[]>;
  /** Listens for changes of the list of tools. */
  watchTools(): Promise<ToolsWatch>;
  /** The JSON-RPC error code behind what a call was rejected with. */
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

export interface ToolsWatch {
  readonly changed: Promise<void>;
  close(): Promise<void>;
}

/** How a client answers what a server asks. */
export interface Answers {
  elicit(message: string): ElicitReply;
  sample(question: string): string;
  readonly roots: { uri: string; name: string }[];
}

export type ElicitReply =
  | { readonly action: "accept"; readonly content: Record<string, string | number | boolean | string[]> }
  | { readonly action: "decline" };

/** Where a server is: a program to start, or an address. */
export type Target =
  | { readonly wire: "stdio"; readonly command: string; readonly args: string[]; readonly env?: Record<string, string> }
  | { readonly wire: "http"; readonly url: string };

export type Era = "legacy" | "modern";
/** What a client is told to speak; `auto` finds out. */
export type Choice = Era | "auto";

/** Opens a client of one SDK. */
export type OpenDriver = (target: Target, choice: Choice, answers: Answers) => Promise<Driver>;

interface Content {
  readonly type: string;
  readonly text?: unknown;
}

/** The result of `tools/call`, as each SDK gives it. */
export function toReply(result: object): ToolReply {
  const { content, structuredContent, isError } = result as Record<string, unknown>;
  return { text: textOf(content as Content[]), structured: structuredContent, isError: isError === true };
}

/** All text of content blocks or resource contents. */
export function textOf(blocks: readonly unknown[]): string {
  return blocks.map((block) => (block as Content).text ?? "").join("\n");
}

/** Log messages as they come: they may travel on another stream than the call's answer, and come after it. */
export class LogBook {
  readonly #entries: unknown[] = [];
  #wake: () => void = () => {};

  /** FastMCP's servers put a message into an object. */
  add(entry: unknown): void {
    this.#entries.push((entry as { msg?: unknown } | null)?.msg ?? entry);
    this.#wake();
  }

  /** All messages, once the last one has come. */
  async upTo(last: string): Promise<unknown[]> {
    while (!this.#entries.includes(last)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#entries.splice(0);
  }
}
