import { examine } from "../../doctor/examine.js";
import { gather } from "../../doctor/gather.js";
import { Log } from "../../doctor/log.js";
import { RULES } from "../../doctor/rules/index.js";
import { Session } from "../../doctor/session.js";
import type { Inspection } from "../../inspect/inspection.js";
import type { MoreVerbs } from "../../inspect/verbs.js";
import type { NewEvent, RecordingEvent } from "../../recording/events.js";
import { Recording } from "../../recording/recording.js";
import { Redactor } from "../../recording/redactor.js";
import type { CommandContext } from "../context.js";
import { openSubject } from "../doctor/subject.js";
import { verdictOf } from "../doctor/verdict.js";
import { secretsOf } from "../recordings/recorder.js";
import type { ServerPlan } from "../target.js";

/** Numbers of connections and exchanges between two examinations. Those of live connections are far below. */
const APART = 1_000_000;

/** Returns the verb that examines the server of a command line, over connections of its own. */
export function doctorOf(plan: ServerPlan, context: CommandContext): NonNullable<MoreVerbs["doctor"]> {
  let count = 0;
  let last: Promise<unknown> = Promise.resolve();
  return (_, inspection) => {
    const offset = ++count * APART;
    const work = (signal: AbortSignal) => {
      // One after the other: a process that is started twice at once may say that its files are locked.
      const examined = last.then(() => examineIn(inspection, plan, context, offset, signal));
      last = examined.catch(() => {});
      return examined;
    };
    return { run: inspection.runs.start({ connection: 0, verb: "doctor" }, work) };
  };
}

async function examineIn(
  inspection: Inspection,
  plan: ServerPlan,
  context: CommandContext,
  offset: number,
  signal: AbortSignal,
) {
  signal.throwIfAborted();
  const redaction = { values: secretsOf(plan) };
  const told = new Recording({ redaction, limits: { maxKeptLines: 1 } });
  // Number of the line in the inspector, by that in the recording of the doctor. Its header is line 1.
  const lines = [0, 1];
  told.subscribe((event) => {
    inspection.recording.add(elsewhere(event, offset));
    lines.push(inspection.lines.last);
  });
  try {
    const log = new Log(told, new Redactor(redaction));
    const { subject, close } = await openSubject(plan, { now: Date.now() }, context);
    const facts = await gather(new Session({ ...subject, signal }, log)).finally(close);
    signal.throwIfAborted();
    const { findings } = examine(facts, RULES, log);
    const verdicts = findings.map((finding) => verdictOf(finding, (line) => lines[line] ?? line));
    for (const verdict of verdicts) inspection.recording.add(verdict);
    return { verdicts: verdicts.map(({ k: _, ...verdict }) => verdict) };
  } finally {
    await told.close();
  }
}

/** Returns an event with numbers that no other connection and exchange of the inspector has. */
function elsewhere({ t: _, ...event }: RecordingEvent, offset: number): NewEvent {
  const { c, x } = event as { readonly c?: number; readonly x?: number };
  return { ...event, ...(c !== undefined && { c: c + offset }), ...(x !== undefined && { x: x + offset }) } as NewEvent;
}
