import { examine } from "../../doctor/examine.js";
import { gather } from "../../doctor/gather.js";
import { Log } from "../../doctor/log.js";
import { RULES } from "../../doctor/rules/index.js";
import { Session } from "../../doctor/session.js";
import { Recording } from "../../recording/recording.js";
import type { CommandContext } from "../context.js";
import { subjectOf } from "../doctor/subject.js";
import { textReport } from "../doctor/text.js";
import { EXIT } from "../failures.js";
import { findServer } from "../target.js";

/** Checks a server, and prints what is wrong with it. */
export async function doctor(context: CommandContext): Promise<void> {
  const { line, io, screen } = context;
  const plan = await findServer(line, io);
  const log = new Log(new Recording());
  const facts = await gather(new Session(subjectOf(plan.targets[0]!, plan, context), log));
  const report = examine(facts, RULES, log);
  if (report.findings.some(({ level }) => level === "error")) context.exit = EXIT.checkFailed;
  context.finish(report, () => {
    for (const text of textReport(report, screen)) screen.line(text);
  });
}
