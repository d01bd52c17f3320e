import { DOCS } from "../../doctor/examine.js";
import type { Level } from "../../doctor/rule.js";
import type { Screen } from "../screen.js";
import { fitted, visibleLine, wrapped } from "../text.js";
import type { Examination } from "./examination.js";

const COLOURS = { error: "red", warning: "yellow", note: "cyan" } as const satisfies Record<Level, string>;

/** Columns of the level, in front of each finding. */
const INDENT = 11;

/** Prints a report for a person. */
export function printReport(examination: Examination, screen: Screen, isVerbose: boolean): void {
  const { findings, passed, notApplicable, summary, recording } = examination;
  if (summary !== undefined) {
    const { name, version, wire, speaks, lacks, ms, lines } = summary;
    const spoken = speaks.length === 0 ? "" : `, ${speaks.join(" and ")}`;
    const lacked = lacks.length === 0 ? "" : `; not ${lacks.join(" and ")}`;
    const head = visibleLine([name, version].filter((part) => part !== undefined).join(" "));
    const by = ` by ${wire === "http" ? "HTTP" : wire}${visibleLine(spoken + lacked)}`;
    const took = `${(ms / 1000).toFixed(1)} s, ${lines} lines`;
    const isRoom = head.length + by.length + took.length + 2 <= screen.columns;
    screen.line(`${screen.paint("bold", head)}${by}${isRoom ? `  ${screen.paint("dim", took)}` : ""}`);
    if (!isRoom) screen.line(screen.paint("dim", took));
    screen.line();
  }
  const indent = " ".repeat(INDENT);
  const width = Math.max(40, screen.columns - INDENT);
  for (const { rule, level, text, remedy, docs, evidence, requirement } of findings) {
    screen.line(`  ${screen.paint(COLOURS[level], level.padEnd(INDENT - 2))}${rule}`);
    for (const part of wrapped(visibleLine(text), width)) screen.line(indent + part);
    const more = [`remedy: ${visibleLine(remedy)}`];
    if (recording !== undefined && evidence.length > 0)
      more.push(`evidence: ${evidence.map(({ line }) => `${visibleLine(recording)}:${line}`).join(", ")}`);
    if (isVerbose) {
      if (requirement !== undefined) more.push(`requirement: ${requirement}`);
      more.push(docs, ...evidence.map(({ line, text }) => fitted(`${line}: ${visibleLine(text)}`, width)));
    }
    for (const one of more)
      for (const part of wrapped(one, width)) screen.line(`${indent}${screen.paint("dim", part)}`);
  }
  if (findings.length > 0) screen.line();
  const counts = (["error", "warning", "note"] as const).map((level) => {
    const count = findings.filter((one) => one.level === level).length;
    return `${count} ${level}${count === 1 ? "" : "s"}`;
  });
  const hint = isVerbose ? "" : " (-v lists them)";
  const total = `${passed.length} ${passed.length === 1 ? "rule" : "rules"} passed, ${notApplicable.length} not applicable${hint}. ${counts.join(", ")}.`;
  for (const part of wrapped(total, Math.max(40, screen.columns - 2))) screen.line(`  ${part}`);
  if (isVerbose) {
    for (const part of wrapped(`passed: ${passed.join(", ")}`, width)) screen.line(`  ${part}`);
    for (const part of wrapped(`not applicable: ${notApplicable.join(", ")}`, width)) screen.line(`  ${part}`);
    screen.line(`  The rules: ${DOCS}`);
  }
}
