import type { Finding } from "../../doctor/examine.js";
import type { NewEvent, VerdictEvent } from "../../recording/events.js";

/** Returns a finding as a line of a recording. `toLine` tells where its evidence is in that recording. */
export function verdictOf(
  { rule, level, text, remedy, evidence }: Finding,
  toLine: (line: number) => number = (line) => line,
): Extract<NewEvent, Pick<VerdictEvent, "k">> {
  return { k: "verdict", rule, level, text, remedy, lines: evidence.map(({ line }) => toLine(line)) };
}
