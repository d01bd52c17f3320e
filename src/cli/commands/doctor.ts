import { examine } from "../../doctor/examine.js";
import type { Facts, Scope } from "../../doctor/facts.js";
import { gather } from "../../doctor/gather.js";
import { Log } from "../../doctor/log.js";
import { PORTABLE_HOSTS } from "../../doctor/portability.js";
import { LEVELS, type Level, type Rule } from "../../doctor/rule.js";
import { RULES } from "../../doctor/rules/index.js";
import { Session } from "../../doctor/session.js";
import { Recording } from "../../recording/recording.js";
import { Redactor } from "../../recording/redactor.js";
import type { CommandContext } from "../context.js";
import { type Examination, summaryOf } from "../doctor/examination.js";
import { githubReport } from "../doctor/github.js";
import { readHosts } from "../doctor/hosts.js";
import { sarifReport } from "../doctor/sarif.js";
import { openSubject } from "../doctor/subject.js";
import { printReport } from "../doctor/text.js";
import { verdictOf } from "../doctor/verdict.js";
import { describeFailure, EXIT, NotReached, UsageError } from "../failures.js";
import { textValue } from "../parse.js";
import { createRecording, redactedText } from "../recordings/destination.js";
import { secretsOf } from "../recordings/recorder.js";
import { unknownName } from "../suggest.js";
import { findServer } from "../target.js";
import { toJson, visibleLine } from "../text.js";

/** Options of servers that a doctor does not have: it speaks all versions, and takes its own time. */
const NOT_HERE = ["era", "version", "timeout", "deadline", "log"];

/** Checks a server, and prints what is wrong with it. */
export async function doctor(context: CommandContext): Promise<void> {
  const { line, values, screen } = context;
  const stray = NOT_HERE.find((name) => values[name] !== undefined);
  if (stray !== undefined)
    throw new UsageError(`--${stray} is not for the doctor: it speaks all protocol versions, in its own time`);
  const rules = chosenRules(textValue("only", values), textValue("skip", values));
  if (values.list === true) return printRules(rules, context);
  const hasServer = line.server !== undefined || line.program !== undefined;
  if (!hasServer && values.hosts !== true)
    throw new UsageError("bowline doctor needs a server, or --hosts for the files of installed applications");
  const worst = levelOf(textValue("fail-on", values) ?? "error");
  const scope = { now: Date.now(), hosts: namedHosts(textValue("for", values)) };
  const { facts, examination } = hasServer
    ? await examineServer(rules, scope, context)
    : await examineHosts(rules, scope, context);
  if (examination.findings.some(({ level }) => LEVELS.indexOf(level) <= worst)) context.exit = EXIT.checkFailed;
  const unreached = unreachedOf(facts, examination.summary?.name ?? "");
  if (unreached !== undefined && examination.findings.length === 0) throw unreached;
  print(examination, rules, context);
  if (unreached === undefined) return;
  const { exit, failure } = describeFailure(unreached);
  screen.error(`  ${visibleLine(failure.message)}`);
  context.exit ||= exit;
}

async function examineServer(
  rules: readonly Rule[],
  scope: Scope,
  context: CommandContext,
): Promise<{ facts: Facts; examination: Examination }> {
  const { line, io, values, screen } = context;
  const plan = await findServer(line, io);
  const recording = textValue("record", values);
  const redaction = { values: secretsOf(plan) };
  const told =
    recording === undefined
      ? new Recording({ redaction, limits: { maxKeptLines: 1 } })
      : await createRecording(recording, { overwrite: values.overwrite === true, redaction }, io);
  try {
    const log = new Log(told, new Redactor(redaction));
    const began = performance.now();
    const { subject, close } = await openSubject(plan, scope, context);
    const facts = await gather(new Session(subject, log)).finally(close);
    const summary = summaryOf(facts, plan.label, performance.now() - began, log.events.length);
    const report = examine(facts, rules, log);
    for (const finding of report.findings) told.add(verdictOf(finding));
    return { facts, examination: { ...report, summary, ...(recording !== undefined && { recording }) } };
  } finally {
    await told.close();
    if (recording !== undefined)
      screen.note(screen.tint("dim", `recorded in ${visibleLine(recording)}; ${redactedText(told.redacted)}`));
  }
}

async function examineHosts(
  rules: readonly Rule[],
  scope: Scope,
  { io, values }: CommandContext,
): Promise<{ facts: Facts; examination: Examination }> {
  const hosts = await readHosts(textValue("config", values), io);
  const facts: Facts = { wire: "stdio", scope, hosts };
  return { facts, examination: examine(facts, rules, { quote: () => undefined, redact: (text) => text }) };
}

/** Returns the rules of `--only` without those of `--skip`: ids, or groups. */
function chosenRules(only: string | undefined, skip: string | undefined): readonly Rule[] {
  const names = [...new Set(RULES.map(({ id }) => id.split("/")[0]!)), ...RULES.map(({ id }) => id)];
  const matching = (list: string) => {
    const wanted = list.split(",").map((name) => name.trim());
    for (const name of wanted) if (!names.includes(name)) throw unknownName("rule or group", name, names);
    return ({ id }: Rule) => wanted.some((name) => id === name || id.startsWith(`${name}/`));
  };
  const isSkipped = skip === undefined ? () => false : matching(skip);
  return RULES.filter(only === undefined ? () => true : matching(only)).filter((rule) => !isSkipped(rule));
}

function namedHosts(list: string | undefined): readonly string[] | undefined {
  const names = list?.split(",").map((name) => name.trim());
  for (const name of names ?? [])
    if (!(PORTABLE_HOSTS as readonly string[]).includes(name)) throw unknownName("host", name, PORTABLE_HOSTS);
  return names;
}

function levelOf(name: string): number {
  return LEVELS.indexOf(name as Level);
}

/** Returns the failure of a server that could not be examined at all. */
function unreachedOf({ eras, start }: Facts, label: string): NotReached | undefined {
  if (eras === undefined || start?.failure !== undefined || eras.some(({ outcome }) => outcome === "spoken"))
    return undefined;
  const { failure } = eras.find((era) => era.failure !== undefined) ?? {};
  return failure && new NotReached(label, failure.cause);
}

function printRules(rules: readonly Rule[], context: CommandContext): void {
  const { screen } = context;
  const listed = rules.map(({ id, finds, remedy, needs, requirement }) => ({
    id,
    finds,
    remedy,
    needs,
    ...(requirement && { requirement }),
  }));
  context.finish({ rules: listed }, () => {
    for (const { id, finds, needs } of listed) {
      const when = needs.length === 0 ? "" : screen.paint("dim", ` (${needs.map((need) => NEEDS[need]).join(", ")})`);
      screen.line(`${id.padEnd(20)}${finds}${when}`);
    }
  });
}

const NEEDS = { process: "a command", url: "a URL", try: "--try", slow: "--slow", hosts: "--hosts" } as const;

function print(examination: Examination, rules: readonly Rule[], context: CommandContext): void {
  const { values, screen } = context;
  const format = textValue("format", values) ?? "text";
  if (format === "sarif") return screen.line(toJson(sarifReport(examination, rules), 2));
  if (format === "github") {
    for (const line of githubReport(examination)) screen.line(line);
    return;
  }
  if (format === "json") context.values = { ...values, json: true };
  context.finish(examination, () => printReport(examination, screen, values.verbose === true));
}
