import { SPOKEN_ERAS, type SpokenEra } from "../../era/spoken.js";
import { isVersionList } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { EraFacts, StartFacts } from "../facts.js";
import { type Message, messageIn } from "../log.js";
import { type Link, type Reply, type Session, START_MS } from "../session.js";

/** An era with its connection. */
export interface OpenEra {
  readonly facts: EraFacts;
  readonly link: Link;
}

/** Time for a server that runs already. */
const RUNNING_MS = 15_000;
/** Least time for an answer to a request that a server may not know. A busy machine delays the start of a process. */
const PROBE_MS = 10_000;

/**
 * Opens a connection in each era, one after the other: a second start of a process must not compete with the first, whose
 * time counts.
 */
export async function probeEras(
  session: Session,
): Promise<{ readonly start: StartFacts; readonly eras: readonly OpenEra[] }> {
  const eras: OpenEra[] = [];
  let start: StartFacts | undefined;
  const firstMs = session.subject.start === undefined ? RUNNING_MS : START_MS;
  for (const era of SPOKEN_ERAS) {
    const began = session.subject.clock.now();
    const timeoutMs = start === undefined ? firstMs : Math.max(PROBE_MS, 3 * (start.firstAnswerMs ?? 0));
    const opened = await openEra(session, era, timeoutMs);
    eras.push(opened);
    start = quicker(start, startOf(opened, session.subject.clock.now() - began));
    if (isNeverStarted(opened)) break;
  }
  const failure = eras[0]?.link.failure;
  const isStarted = eras.some(({ facts }) => facts.outcome !== "died");
  if (!isStarted && failure !== undefined && session.subject.diagnose !== undefined)
    start = { ...start, failure: { ...(await session.subject.diagnose(failure)), line: eras[0]?.facts.line } };
  const { launcher } = session.subject;
  return { start: { ...start, ...(launcher !== undefined && { launcher }) }, eras };
}

async function openEra(session: Session, { name, versions, opening }: SpokenEra, timeoutMs: number): Promise<OpenEra> {
  // A question that is never answered shows whether the process can end while it waits.
  const roots = () => new Promise<never>(() => {});
  const link = await session.open({ versions, timeoutMs, roots });
  const base = { era: name, versions, opening };
  const isOpened = link.events.some((one) => messageIn(one, "<") !== undefined);
  if (link.client === undefined) return { link, facts: { ...base, ...failureOf(link) } };
  if (isOpened) return { link, facts: { ...base, ...spoken(link), line: firstAnswer(link)?.line } };
  const reply = await link.ask(opening, undefined, { timeoutMs });
  const offered = versionsIn(reply);
  if (reply.result === undefined) return { link, facts: { ...base, ...outcomeOf(reply, link), offered } };
  return { link, facts: { ...base, ...spoken(link), ...described(reply.result), offered, line: reply.line } };
}

/** Returns what a server says of itself in the answer to a probe. The name is in `_meta`, below the prefix of the protocol. */
function described({ capabilities, instructions, _meta }: Message): Pick<EraFacts, "server" | "capabilities"> {
  const meta = isObject(_meta) ? Object.entries(_meta) : [];
  const info = meta.find(([key]) => key.endsWith("/serverInfo"))?.[1];
  const { name, version } = isObject(info) ? info : {};
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return {
    server: { name: text(name), version: text(version), instructions: text(instructions) },
    ...(isObject(capabilities) && { capabilities }),
  };
}

function spoken({ client, events }: Link): Pick<EraFacts, "outcome" | "version" | "server" | "capabilities" | "isSse"> {
  const { info, capabilities, instructions } = client!.server;
  const isSse = events.some(({ event }) => event.k === "frame" && event.event === "endpoint");
  const server = { name: info?.name, version: info?.version, instructions };
  return { outcome: "spoken", version: client!.version, server, capabilities, isSse };
}

function failureOf(link: Link): Pick<EraFacts, "outcome" | "line" | "failure"> {
  const failure = link.failure!;
  const { status } = failure as { readonly status?: number };
  return {
    outcome: outcomeFor(failure, link, firstAnswer(link) !== undefined || status !== undefined),
    line: (firstAnswer(link) ?? link.events.at(-1))?.line,
    failure: { message: failure.message, status, cause: failure },
  };
}

function outcomeOf(reply: Reply, link: Link): Pick<EraFacts, "outcome" | "line" | "failure"> {
  const { error, failure, status, line } = reply;
  const message = error === undefined ? (failure?.message ?? "no result") : `${error.code}: ${error.message}`;
  const isAnswered = error !== undefined || (status !== undefined && failure?.name !== "TimeoutError");
  return { outcome: outcomeFor(failure, link, isAnswered), line, failure: { message, status, cause: failure } };
}

function outcomeFor(failure: Error | undefined, link: Link, isAnswered: boolean): EraFacts["outcome"] {
  if (isAnswered) return "refused";
  return failure?.name === "TimeoutError" && !link.hasEnded ? "silent" : "died";
}

function firstAnswer({ events }: Link) {
  return events.find((one) => messageIn(one, "<") !== undefined);
}

/** True if the process could not be started at all. */
function isNeverStarted({ link, facts }: OpenEra): boolean {
  const { delivery } = (link.failure ?? {}) as { readonly delivery?: string };
  return link.server !== undefined && facts.outcome === "died" && delivery === "not_sent";
}

/** Returns the quicker of two starts: the first may have installed a package. */
function quicker(one: StartFacts | undefined, two: StartFacts): StartFacts {
  const [first = Number.POSITIVE_INFINITY, second = Number.POSITIVE_INFINITY] = [one?.firstAnswerMs, two.firstAnswerMs];
  return one !== undefined && first <= second ? one : two;
}

function startOf({ link }: OpenEra, ms: number): StartFacts {
  const first = firstAnswer(link);
  const open = link.events.find(({ event }) => event.k === "open");
  if (first === undefined || open === undefined) return { firstAnswerMs: undefined };
  return { firstAnswerMs: Math.min(ms, (first.event.t - open.event.t) / 1000), line: first.line };
}

/** Returns the versions that an answer names: in its result, or in the data of its error. */
function versionsIn({ result, error }: Reply): readonly string[] | undefined {
  const data = error?.data;
  const named = result?.supportedVersions ?? (isObject(data) ? data.supported : undefined);
  return isVersionList(named) ? named : undefined;
}
