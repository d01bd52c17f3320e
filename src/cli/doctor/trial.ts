import type { Trial } from "../../doctor/session.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";
import { unknownName } from "../suggest.js";
import { assertFits, readToolLine } from "../tool-arguments.js";

/** Reads `--try`: the name of a tool and its arguments, as `bowline call` takes them. */
export function trialOf(text: string, io: Io): Trial {
  const [name = "", ...tail] = wordsOf(text);
  if (name === "")
    throw new UsageError("--try must be the name of a tool with its arguments, such as 'moor --ship Maria'");
  return {
    args: async (tools) => {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined)
        throw unknownName(
          "tool",
          name,
          tools.map((one) => String(one.name)),
        );
      const table = { args: { type: "string", help: "" } } as const;
      const { args } = await readToolLine(tool, { head: {}, tail }, table, io);
      await assertFits(tool, args);
      return { tool, args };
    },
  };
}

/** Divides a text at spaces, but not within quotes. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [, plain, double, single] of text.matchAll(/([^\s"']+=?)?(?:"([^"]*)"|'([^']*)')?(?:\s+|$)/g)) {
    const word = (plain ?? "") + (double ?? single ?? "");
    if (word !== "" || double !== undefined || single !== undefined) words.push(word);
  }
  return words;
}
