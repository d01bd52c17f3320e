import type { Rule } from "../rule.js";
import { linesOf, list, quoted } from "./words.js";

/** Times of the first answer: hosts feel slow, and give up. */
const SLOW_MS = 2_000;
const TOO_SLOW_MS = 10_000;

/** Rules of the start of a server. */
export const START: readonly Rule[] = [
  {
    id: "start/failed",
    finds: "a command that is not found, or a process that ends before it answers",
    remedy: "Run the command in a shell with the environment of a host: few variables, and none of a shell's profile.",
    needs: ["process"],
    check: ({ wire, start }) => {
      if (wire !== "stdio" || start === undefined) return undefined;
      const { failure } = start;
      if (failure === undefined) return [];
      const { message, line, missing, startsWithAll } = failure;
      const lines = linesOf(line);
      const said = failure.stderr.at(-1);
      const words = said === undefined || message.includes(said) ? "" : `; its last words: ${quoted(said)}`;
      const variables = missing.length > 0 ? list(missing) : "a variable that only your shell has";
      const works = startsWithAll ? `; with your whole environment it starts, so it needs ${variables}` : "";
      const remedy = startsWithAll
        ? `Pass what it needs: ${missing.map((name) => `--env ${name}`).join(" ") || "--env NAME"}; in hosts, the member env.`
        : undefined;
      return [{ level: "error", place: "process", text: `${message}${words}${works}`, lines, remedy }];
    },
  },
  {
    id: "start/slow",
    finds: "a first answer after 2 s (warning) or 10 s (error)",
    remedy: "Answer first and load later: start the transport before you open databases, indexes or models.",
    needs: [],
    check: ({ start }) => {
      const ms = start?.firstAnswerMs;
      if (start === undefined || ms === undefined) return undefined;
      if (ms <= SLOW_MS) return [];
      const { launcher } = start;
      const through = launcher === undefined ? "" : `, through ${launcher}`;
      const text = `the first answer came after ${(ms / 1000).toFixed(1)} s${through}`;
      const remedy =
        launcher &&
        `Install the package and name its program in hosts: ${launcher} looks the package up at each start. A slow start that remains is the server's.`;
      const level = ms > TOO_SLOW_MS ? "error" : "warning";
      return [{ level, place: "start", text, lines: linesOf(start.line), remedy }];
    },
  },
];
