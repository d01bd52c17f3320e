import type { Client } from "../client/client.js";
import type { Io } from "./io.js";
import type { CommandLine, Values } from "./parse.js";
import type { ProgressLine } from "./progress.js";
import type { Screen } from "./screen.js";
import { toJson } from "./text.js";

/** Run of a command: its command line, its streams, and what it has found out so far. */
export class CommandContext {
  readonly #began = performance.now();
  #hasLines = false;
  /** Options. A command replaces them when it knows which belong to the server's item. */
  values: Values;
  /** Name of the server, for questions. */
  serverName = "The server";
  /** Line that shows the progress of the running call. */
  progress: ProgressLine | undefined;
  /** Server of the result. */
  server: ServerTold | undefined;
  /** First line that the process of the server wrote to stderr since the last request. */
  serverWrote: string | undefined;
  /** Exit code of a command that printed its result. */
  exit = 0;

  constructor(
    readonly line: CommandLine,
    readonly io: Io,
    readonly screen: Screen,
  ) {
    this.values = line.values;
  }

  get isJson(): boolean {
    return this.values.json === true;
  }

  /** Notes what the server says about itself, for the JSON document. */
  describe(client: Client): void {
    const { info } = client.server;
    this.serverName = info?.name ?? this.serverName;
    this.server = { name: info?.name, version: info?.version, protocol: client.version };
  }

  /** Prints the result: as the JSON document, or by `print`. */
  finish(result: unknown, print: () => void): void {
    if (this.isJson) this.#document({ ok: true, result });
    else print();
  }

  /** Prints the JSON document of a failure. `result` is what the command has nevertheless, such as that of a tool that failed. */
  fail(error: object, result?: unknown): void {
    this.#document({ ok: false, error, ...(result !== undefined && { result }) });
  }

  /** Prints a line of a command that prints many. A failure then is a line, too. */
  item(value: object, print: () => void): void {
    this.#hasLines = true;
    if (this.isJson) this.screen.line(toJson(value));
    else print();
  }

  #document(document: object): void {
    const ms = Math.round(performance.now() - this.#began);
    const server = this.server === undefined ? undefined : { server: this.server };
    this.screen.line(toJson({ ...document, ...server, ms }, this.#hasLines ? undefined : 2));
  }
}

interface ServerTold {
  readonly name: string | undefined;
  readonly version: string | undefined;
  /** Protocol version in use. */
  readonly protocol: string | undefined;
}
