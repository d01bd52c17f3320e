import { equal } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import type { TestContext } from "node:test";
import { Interrupted, type Io } from "#src/cli/io.js";
import { main } from "#src/cli/main.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";

/** Stream that keeps what is written to it, and wakes the tests that wait for a text. */
class Screen extends Writable {
  text = "";
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly isTTY: boolean,
    readonly columns: number,
  ) {
    super();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    for (const wake of [...this.#waiting]) wake();
    done();
  }

  /** Resolves when the text, from a position on, matches. */
  async until(pattern: RegExp, from: number): Promise<number> {
    for (;;) {
      const found = pattern.exec(this.text.slice(from));
      if (found !== null) return from + found.index + found[0].length;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }
}

export interface RunOptions {
  /** True if stdin and stderr claim to be a terminal. */
  readonly tty?: boolean;
  /** Width of the terminal. */
  readonly columns?: number;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly home?: string;
  readonly platform?: NodeJS.Platform;
  /** What a person types, each when the text that it answers has appeared. A function does something else then. */
  readonly types?: readonly (readonly [when: RegExp, what: string | ((run: Running) => void)])[];
  /** Called with the first line on stdout. */
  readonly onLine?: (line: string, run: Running) => void;
}

/** A command that runs. */
export interface Running {
  interrupt(by?: "SIGINT" | "SIGTERM"): void;
  /** Closes the reader of stdout, as head does. */
  closePipe(): void;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. Its folders are empty, unless the options name some. */
export async function bowline(t: TestContext, argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { tty = false, columns = 100, stdin, env = {}, types = [], platform = process.platform } = options;
  const input = Object.assign(new PassThrough(), { isTTY: tty, setRawMode: () => {} });
  if (stdin !== undefined || !tty) input.end(stdin ?? "");
  const stdout = new Screen(tty, columns);
  const stderr = new Screen(tty, columns);
  const end = new AbortController();
  const interrupt = (by: "SIGINT" | "SIGTERM" = "SIGINT") => end.abort(new Interrupted(by));
  const closePipe = () => end.abort(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  const io: Io = {
    stdin: input,
    stdout,
    stderr,
    env: { PATH: process.env.PATH, BOWLINE_CACHE: "off", ...(types.length > 0 && { NO_COLOR: "1" }), ...env },
    cwd: options.cwd ?? emptyFolder(t),
    home: options.home ?? emptyFolder(t),
    platform,
    signal: end.signal,
    interrupt,
  };
  const typing = (async () => {
    let at = 0;
    for (const [when, what] of types) {
      at = await stderr.until(when, at);
      if (typeof what === "function") what({ interrupt, closePipe });
      else input.write(what);
    }
  })();
  const { onLine } = options;
  if (onLine !== undefined)
    void stdout.until(/\n/, 0).then((end) => onLine(stdout.text.slice(0, end - 1), { interrupt, closePipe }));
  const code = await main(argv, io);
  let isTyped = false;
  void typing.then(() => {
    isTyped = true;
  });
  await new Promise(setImmediate);
  if (!isTyped) throw new Error(`the command ended before it was answered: ${stderr.text}`);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

export function emptyFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-command-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const published = JSON.parse(
  readFileSync(new URL("../../../src/cli/output.schema.json", import.meta.url), "utf8"),
) as Readonly<Record<string, unknown>>;

/** Parses the document of a command and validates it, and its result, against the schema of the package. */
export function documentOf(
  { stdout }: Ran,
  result?: string,
): {
  readonly ok: boolean;
  readonly result: never;
  readonly error: { readonly code: string; readonly message: string; readonly [member: string]: unknown };
  readonly server: Readonly<Record<string, unknown>>;
} {
  const document = JSON.parse(stdout);
  assertShape(document);
  if (result !== undefined) assertShape(document.result, result);
  return document;
}

/** Asserts that a value matches the schema of all documents, or a part of it. */
export function assertShape(value: unknown, part?: string): void {
  const schema = part === undefined ? published : { $defs: published.$defs, $ref: `#/$defs/${part}` };
  const issues = defaultValidator.compile(schema)(value);
  equal(JSON.stringify(issues), "[]", JSON.stringify(value));
}
