import type { Report } from "../../doctor/examine.js";
import type { Level } from "../../doctor/rule.js";
import type { Screen } from "../screen.js";
import { visibleLine, wrapped } from "../text.js";

const COLOURS = { error: "red", warning: "yellow", note: "cyan" } as const satisfies Record<Level, string>;

/** Returns the lines of a report for a terminal. */
export function textReport({ findings, passed, notApplicable }: Report, screen: Screen): string[] {
  const lines: string[] = [];
  const indent = " ".repeat(11);
  const width = Math.max(40, screen.columns - indent.length);
  for (const { rule, level, text, remedy } of findings) {
    lines.push(`  ${screen.paint(COLOURS[level], level.padEnd(9))}${rule}`);
    for (const part of wrapped(visibleLine(text), width)) lines.push(indent + part);
    for (const part of wrapped(`remedy: ${visibleLine(remedy)}`, width)) lines.push(screen.paint("dim", indent + part));
  }
  if (lines.length > 0) lines.push("");
  lines.push(`  ${passed.length} rules passed, ${notApplicable.length} not applicable.`);
  return lines;
}
