import type { ProcessEnd, ProcessFacts } from "../facts.js";
import { isAnswer, messageIn } from "../log.js";
import type { OpenEra } from "./eras.js";

/** Ends the processes of the connections, and tells what they did at their end and on their outputs. */
export async function probeProcesses(eras: readonly OpenEra[]): Promise<readonly ProcessFacts[]> {
  return Promise.all(eras.filter(({ link }) => link.server !== undefined).map(endProcess));
}

async function endProcess({ facts: { era }, link }: OpenEra): Promise<ProcessFacts> {
  const asking = unanswered(link.events);
  const end = link.hasEnded ? undefined : await link.end();
  const { events } = link;
  const noise = events.flatMap(({ event, line }) => (event.k === "noise" ? [{ text: event.text, line }] : []));
  return {
    era,
    noise,
    stderrBytes: link.stderrBytes,
    ...(end && { end: { ...end, asking } }),
    line: events.at(-1)?.line,
  };
}

/** Returns the requests of the server that have no answer. */
function unanswered(events: OpenEra["link"]["events"]): ProcessEnd["asking"] {
  const open = new Map<unknown, ProcessEnd["asking"][number]>();
  for (const one of events) {
    const asked = messageIn(one, "<");
    if (asked !== undefined && typeof asked.method === "string" && "id" in asked)
      open.set(asked.id, { method: asked.method, line: one.line });
    const answer = messageIn(one, ">");
    if (answer !== undefined && isAnswer(answer)) open.delete(answer.id);
  }
  return [...open.values()];
}
