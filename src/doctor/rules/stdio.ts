import type { Rule } from "../rule.js";
import { counted, list, quoted } from "./words.js";

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
      ofEnds(processes)?.flatMap(({ end }) => {
        if (end.ms !== undefined) return [];
        const asking = end.asking.length === 0 ? "" : ` while its request ${list(end.asking)} had no answer`;
        const text = `the process was alive ${end.waitedMs / 1000} s after the end of its input${asking}, and had to be ended`;
        return [{ level: "warning" as const, place: "process", text }];
      }),
  },
  {
    id: "stdio/orphans",
    finds: "processes that are left after the end of the server",
    remedy: "End the processes that the server started when it ends, or start them so that they end with it.",
    needs: ["process"],
    check: ({ processes }) =>
      ofEnds(processes)?.flatMap(({ end: { orphans } }) =>
        orphans.length === 0
          ? []
          : [{ level: "warning" as const, place: "process", text: `the server left ${list(orphans)} running` }],
      ),
  },
  {
    id: "stdio/flood",
    finds: "more than 1 MiB on stderr before the first answer",
    remedy:
      "Write less before the first answer: a host that does not read stderr makes the server wait on a full pipe.",
    needs: ["process"],
    check: ({ processes }) =>
      processes?.flatMap(({ stderrBytes }) =>
        stderrBytes <= FLOOD
          ? []
          : [
              {
                level: "warning" as const,
                place: "stderr",
                text: `${(stderrBytes / FLOOD).toFixed(1)} MiB on stderr before the first answer`,
              },
            ],
      ),
  },
];

const FLOOD = 1024 ** 2;

/** Returns the first of the processes with each kind of end, so that two starts of a server are one finding. */
function ofEnds(processes: Parameters<Rule["check"]>[0]["processes"]) {
  const ended = processes?.flatMap(({ end }) => (end === undefined ? [] : [{ end }]));
  if (ended === undefined || ended.length === 0) return undefined;
  const worst =
    ended.find(({ end }) => end.ms === undefined) ?? ended.find(({ end }) => end.orphans.length > 0) ?? ended[0]!;
  return [worst];
}
