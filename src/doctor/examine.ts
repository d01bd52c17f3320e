import type { Facts } from "./facts.js";
import type { Log } from "./log.js";
import { LEVELS, type Level, type Problem, type Rule } from "./rule.js";

/** A problem as it is reported. */
export interface Finding {
  readonly rule: string;
  readonly level: Level;
  readonly place: string;
  readonly text: string;
  readonly remedy: string;
  /** Address of the page about the rule. */
  readonly docs: string;
  readonly requirement?: string | undefined;
  /** Lines of the recording, with secrets replaced. */
  readonly evidence: readonly { readonly line: number; readonly text: string }[];
}

export interface Report {
  /** Worst first. */
  readonly findings: readonly Finding[];
  /** Ids of rules. */
  readonly passed: readonly string[];
  readonly notApplicable: readonly string[];
}

/** Page about the rules. */
export const DOCS = "https://github.com/bowline/bowline/blob/main/docs/doctor.md";

/** Lines that a finding quotes. */
const MAX_EVIDENCE = 5;

/** Applies rules to facts. Texts of findings have no secrets, and evidence is from the log. */
export function examine(facts: Facts, rules: readonly Rule[], log: Pick<Log, "quote" | "redact">): Report {
  const findings: Finding[] = [];
  const passed: string[] = [];
  const notApplicable: string[] = [];
  for (const rule of rules) {
    const problems = rule.check(facts);
    if (problems === undefined) notApplicable.push(rule.id);
    else if (problems.length === 0) passed.push(rule.id);
    else findings.push(...problems.map((problem) => toFinding(rule, problem, log)));
  }
  findings.sort((one, two) => LEVELS.indexOf(one.level) - LEVELS.indexOf(two.level));
  return { findings, passed, notApplicable };
}

/** Returns the address of the section about a rule. */
export function docsOf(id: string): string {
  return `${DOCS}#${id.replace(/[^a-z0-9-]/g, "")}`;
}

function toFinding(rule: Rule, problem: Problem, log: Pick<Log, "quote" | "redact">): Finding {
  const { level, place, text, lines = [], remedy = rule.remedy, requirement = rule.requirement } = problem;
  const evidence = lines.slice(0, MAX_EVIDENCE).map((line) => ({ line, text: log.quote(line) ?? "" }));
  const docs = docsOf(rule.id);
  const [at, what] = [log.redact(place), log.redact(text)];
  return {
    rule: rule.id,
    level,
    place: at,
    text: what,
    remedy,
    docs,
    ...(requirement && { requirement }),
    evidence,
  };
}
