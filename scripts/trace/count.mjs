/**
 * Records which functions are entered while it is on. Instrumented modules find it as `globalThis.recorder`.
 *
 * @typedef {{ file: string, name: string | null }} Frame a function on the stack, by the engine's name for it
 * @typedef {{ file: string, fileLines: number, name: string, line: number, lines: number, stack: Frame[] }} Entry a
 * function that is entered; the stack begins with the outermost function of an instrumented file and ends with this one
 */
export class Recorder {
  #modules = new Map();
  #files = new Map();
  #entries = [];
  #on = false;

  /** Takes the description that an instrumented module gives of itself. */
  describe(url, { file, lines, functions }) {
    this.#modules.set(url, file);
    this.#files.set(file, { lines, functions });
  }

  enter(file, index) {
    if (this.#on) this.#entries.push({ file, index, sites: callSites() });
  }

  start() {
    this.#entries = [];
    this.#on = true;
  }

  /** Runs code of the other side, which is not recorded. */
  aside(run) {
    const before = this.#on;
    this.#on = false;
    try {
      return run();
    } finally {
      this.#on = before;
    }
  }

  /**
   * Ends the recording and returns the functions that were entered, in order.
   * @returns {Entry[]}
   */
  stop() {
    this.#on = false;
    return this.#entries.map(({ file, index, sites }) => {
      const { lines, functions } = this.#files.get(file);
      return { file, fileLines: lines, ...functions[index], stack: this.#stackOf(sites) };
    });
  }

  /** Leaves out functions that wait for a promise, and functions of other files. */
  #stackOf(sites) {
    return sites
      .filter((site) => !site.isAsync() && this.#modules.has(site.getFileName()))
      .map((site) => ({ file: this.#modules.get(site.getFileName()), name: site.getFunctionName() }))
      .reverse();
  }
}

function callSites() {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.prepareStackTrace = (_, sites) => sites;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  const { stack } = new Error();
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return stack;
}

/**
 * Counts one call.
 * @param {Entry[]} entries
 */
export function count(entries) {
  const largest = entries.reduce((a, b) => (b.fileLines > a.fileLines ? b : a));
  const longest = entries.reduce((a, b) => (b.lines > a.lines ? b : a));
  const entered = entries.map(({ file }) => file);
  const visited = walk(entries);
  return {
    files: new Set(entered).size,
    changes: changesIn(visited),
    pairs: pairsIn(visited),
    entries: entries.length,
    changesAtEntries: changesIn(entered),
    largestFile: { file: largest.file, lines: largest.fileLines },
    longestFunction: { file: longest.file, name: longest.name, line: longest.line, lines: longest.lines },
  };
}

/** Counts the changes between each two files, in both directions. The most frequent pair is first. */
function pairsIn(files) {
  const counts = new Map();
  for (const [index, file] of files.entries()) {
    const before = files[index - 1] ?? file;
    if (before === file) continue;
    const pair = [before, file].sort().join(" ~ ");
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return [...counts].map(([pair, changes]) => ({ pair, changes })).sort((a, b) => b.changes - a.changes);
}

const changesIn = (files) => files.filter((file, index) => index > 0 && file !== files[index - 1]).length;

/**
 * Returns the files that the call visits, in order. Each entry leads into a file, and each return leads back to the
 * file of the caller.
 */
function walk(entries) {
  const files = [];
  let before = [];
  for (const { stack } of entries) {
    const shared = sharedLength(before, stack.slice(0, -1));
    files.push(...returns(before, shared), ...stack.slice(shared).map(({ file }) => file));
    before = stack;
  }
  return [...files, ...returns(before, 0)];
}

/** Returns the files that returns lead to until only `depth` functions are on the stack. */
function returns(stack, depth) {
  return stack
    .slice(Math.max(depth - 1, 0), -1)
    .map(({ file }) => file)
    .reverse();
}

function sharedLength(a, b) {
  const differs = b.findIndex(({ file, name }, index) => file !== a[index]?.file || name !== a[index]?.name);
  return differs === -1 ? b.length : differs;
}

/** Returns the most frequent of several calls, so that a timer that fires during one of them does not count. */
export function mostCommon(calls) {
  const times = new Map();
  for (const call of calls) {
    const text = JSON.stringify(call);
    times.set(text, (times.get(text) ?? 0) + 1);
  }
  const [text] = [...times].reduce((a, b) => (b[1] > a[1] ? b : a));
  return JSON.parse(text);
}
