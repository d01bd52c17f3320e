/** Facts about a process that has ended. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  readonly stderr: readonly string[];
  /** True if it ever wrote a line to its stdout that may be a message. */
  readonly spoke: boolean;
}

/** Messages of runtimes and launchers, with their meaning. The first match counts. A message may have several lines. */
const KNOWN_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [
    /ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX/,
    "its TypeScript has a construct that Node does not compile (enum, namespace or parameter property): write it otherwise (tsc --erasableSyntaxOnly finds it), or use `node --import tsx`",
  ],
  [
    /Cannot use import statement outside a module|"type": "module" in the nearest package\.json|Top-level await is currently not supported with the "cjs" output format/,
    'its package.json says "type": "commonjs", or no type, and the program is an ES module: run `npm pkg set type=module` there',
  ],
  [/ERR_INVALID_TYPESCRIPT_SYNTAX/, "its TypeScript has a syntax error"],
  [
    /Cannot find (module|package) ["']?tsx\b/,
    "tsx was not found from its working directory: install tsx, or name its file (node_modules/tsx/dist/loader.mjs) by an absolute path",
  ],
  [
    /ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|Cannot find (module|package)/,
    "a module is missing: not installed or not built",
  ],
  [
    /does not provide an export named|Named export .* not found|ERR_PACKAGE_PATH_NOT_EXPORTED|cannot import name/,
    "the program failed to load: an import does not exist",
  ],
  [
    /Unknown file extension "\.[mc]?tsx?"/,
    "this Node cannot run TypeScript: use Node 22.18 or later, or `node --import tsx`",
  ],
  [/ModuleNotFoundError|No module named/, "a Python module is missing"],
  [/npm (error|ERR!) (code )?E?404/, "npm did not find the package"],
  [/could not determine executable to run/, "npx cannot tell which executable of the package to run"],
  [/heap out of memory/, "it ran out of memory"],
  [/EADDRINUSE/, "an address it listens on is in use"],
  [/(command )?not found|No such file or directory/, "a program or file that it needs is missing"],
  [/[Pp]ermission denied|EACCES|EPERM/, "it lacks a permission"],
  [
    /\.[mc]?tsx?:\d+$[\s\S]*^SyntaxError/m,
    "this Node cannot read the syntax of its TypeScript: use Node 24 or later, or `node --import tsx`",
  ],
  [/SyntaxError|ERR_UNKNOWN_FILE_EXTENSION/, "the runtime cannot read its program: wrong version or not built"],
];

const SHELL_CODES: ReadonlyMap<number, string> = new Map([
  [126, "the program that it should run is not executable"],
  [127, "the program that it should run was not found"],
  [137, "it was killed, perhaps for lack of memory"],
]);

/** Returns the probable cause of an exit, worded to follow "probably". Returns undefined if there is no sign of one. */
export function likelyCauseOf({ exitCode, exitSignal, stderr, spoke }: ProcessEnd): string | undefined {
  const text = stderr.join("\n");
  for (const [message, meaning] of KNOWN_MESSAGES) if (message.test(text)) return meaning;
  if (exitSignal === "SIGKILL") return SHELL_CODES.get(137);
  if (exitSignal === "SIGSEGV" || exitSignal === "SIGABRT") return "the program itself or a native library crashed";
  if (exitCode === 0 && !spoke) return "it does not serve over stdio: wrong program or arguments";
  return exitCode === null ? undefined : SHELL_CODES.get(exitCode);
}

/**
 * Returns the most informative line: the last one that names an error, since stack traces and versions follow it,
 * otherwise the last one. A line that ends with a colon announces the next, which is returned with it.
 */
export function lastWordsOf(stderr: readonly string[]): string | undefined {
  const named = stderr.findLastIndex((line) => /^(Uncaught )?\S*(Error|Exception)\b.*:|^error:/i.test(line));
  if (named === -1) return stderr.findLast(isSaid);
  const words = stderr[named]!.trimEnd();
  const next = words.endsWith(":") ? stderr.slice(named + 1).find(isSaid) : undefined;
  return next === undefined ? words : `${words} ${next.trim()}`;
}

function isSaid(line: string): boolean {
  return line.trim() !== "";
}

/** Limits of a {@link StderrTail}. */
export interface StderrTailLimits {
  readonly maxLines: number;
  /** Maximum number of characters of all lines together. A longer line counts as several lines. */
  readonly maxChars: number;
}

/** Keeps the last lines of a text stream, and passes on each line. */
export class StderrTail {
  readonly #limits: StderrTailLimits;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #utf8 = new TextDecoder();
  readonly #lines: string[] = [];
  #chars = 0;
  #rest = "";

  constructor(limits: StderrTailLimits, onLine?: (line: string) => void) {
    this.#limits = limits;
    this.#onLine = onLine;
  }

  /** Last lines, including an incomplete one. */
  get lines(): readonly string[] {
    return this.#rest === "" ? [...this.#lines] : [...this.#lines, this.#rest];
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#utf8.decode(chunk, { stream: true }));
  }

  /** Ends the stream. An incomplete line counts as a line. Idempotent. */
  end(): void {
    this.#take(this.#utf8.decode());
    if (this.#rest !== "") this.#add(this.#rest);
    this.#rest = "";
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) this.#add(line.endsWith("\r") ? line.slice(0, -1) : line);
    this.#rest = rest;
    const { maxChars } = this.#limits;
    while (this.#rest.length > maxChars) {
      this.#add(this.#rest.slice(0, maxChars));
      this.#rest = this.#rest.slice(maxChars);
    }
  }

  #add(line: string): void {
    const { maxLines, maxChars } = this.#limits;
    const kept = line.length > maxChars ? line.slice(-maxChars) : line;
    this.#lines.push(kept);
    this.#chars += kept.length;
    while (this.#lines.length > maxLines || this.#chars > maxChars) this.#chars -= this.#lines.shift()!.length;
    this.#onLine?.(line);
  }
}
