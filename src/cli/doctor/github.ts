import { visibleLine } from "../text.js";
import type { Examination } from "./examination.js";

/** Returns the findings as workflow commands of GitHub Actions, which become annotations. */
export function githubReport({ findings, recording }: Examination): string[] {
  return findings.map(({ rule, level, text, remedy, docs, evidence }) => {
    const place = recording === undefined ? [] : [`file=${property(recording)}`, `line=${evidence[0]?.line ?? 1}`];
    const properties = [...place, `title=${property(rule)}`].join(",");
    const command = level === "note" ? "notice" : level;
    return `::${command} ${properties}::${message(visibleLine(`${text} Remedy: ${remedy} ${docs}`))}`;
  });
}

/** A line that could end the command would begin another one. */
function message(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return message(visibleLine(text)).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
