import type { ProcessEnd, ProcessFacts } from "../facts.js";
import type { Problem, Rule } from "../rule.js";
import { counted, linesOf, list, quoted } from "./words.js";

/** Rules of server processes. */
export const STDIO: readonly Rule[] = [
  {
    id: "stdio/noise",
    finds: "text on stdout that is no message",
    remedy: "Write logs to stderr: in Node console.error, in Python print(..., file=sys.stderr) or logging.",
    needs: ["process"],
    requirement: "transport:stdio:stream-purity",
    check: ({ processes }) => {
      const all = processes?.flatMap(({ noise }) => noise) ?? [];
      // A server that is started twice says the same twice.
      const [first, ...others] = [...new Map(all.map((one) => [one.text, one])).values()];
      if (processes === undefined || first === undefined) return processes && [];
      const more = others.length === 0 ? "" : `, and ${counted(others.length, "more text")}`;
      const text = `stdout has text that is no message: ${quoted(first.text)}${more}; some hosts end the connection then`;
      return [{ level: "error", place: "stdout", text, lines: [first, ...others].map(({ line }) => line) }];
    },
  },
  {
    id: "stdio/exit",
    finds: "a process that stays alive at the end of its input",
    remedy: "End the process when stdin ends, also while a request to the client has no answer.",
    needs: ["process"],
    requirement: "transport:stdio:server-exits-on-eof",
    check: ({ processes }) =>
      whereEnd(
        processes,
        ({ ms }) => ms === undefined,
        ({ waitedMs, asking }) => {
          const waiting =
            asking.length === 0 ? "" : ` while its request ${list(asking.map(({ method }) => method))} had no answer`;
          return `the process was alive ${waitedMs / 1000} s after the end of its input${waiting}, and had to be ended`;
        },
      ),
  },
  {
    id: "stdio/orphans",
    finds: "processes that are left after the end of the server",
    remedy: "End the processes that the server started when it ends, or start them so that they end with it.",
    needs: ["process"],
    check: ({ processes }) =>
      whereEnd(
        processes,
        ({ orphans }) => orphans.length > 0,
        ({ orphans }) => `the server left ${list(orphans)} running`,
      ),
  },
  {
    id: "stdio/flood",
    finds: "more than 1 MiB on stderr before the first answer",
    remedy:
      "Write less before the first answer: a host that does not read stderr makes the server wait on a full pipe.",
    needs: ["process"],
    check: ({ processes }) => {
      const flooding = processes?.find(({ stderrBytes }) => stderrBytes > FLOOD);
      if (flooding === undefined) return processes && [];
      const text = `${(flooding.stderrBytes / FLOOD).toFixed(1)} MiB on stderr before the first answer`;
      return [{ level: "warning", place: "stderr", text, lines: linesOf(flooding.line) }];
    },
  },
];

const FLOOD = 1024 ** 2;

/** Returns the problem of the first process whose end is wrong: two starts of a server are one finding. */
function whereEnd(
  processes: readonly ProcessFacts[] | undefined,
  isWrong: (end: ProcessEnd) => boolean,
  tell: (end: ProcessEnd) => string,
): readonly Problem[] | undefined {
  const ended = processes?.filter(({ end }) => end !== undefined) ?? [];
  if (ended.length === 0) return undefined;
  const { end, line } = ended.find((one) => isWrong(one.end!)) ?? {};
  if (end === undefined) return [];
  const lines = [...end.asking.map((asked) => asked.line), ...linesOf(line)];
  return [{ level: "warning", place: "process", text: tell(end), lines }];
}
