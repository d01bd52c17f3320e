import type { Facts } from "./facts.js";
import { probeCatalogue } from "./probes/catalogue.js";
import { type OpenEra, probeEras } from "./probes/eras.js";
import { probeContradiction, probeErrors, probeToolErrors, probeUnknownVersion } from "./probes/errors.js";
import { probeProcesses } from "./probes/processes.js";
import { probeDrain, probeTrial } from "./probes/trial.js";
import type { Session } from "./session.js";

/**
 * Gathers all facts, once. A new probe is a function in `probes/` that takes the session, returns a member of `Facts`, and is
 * called here. Probes that open their own connections or exchanges (`session.open`, `session.fetch`) may run beside others.
 */
export async function gather(session: Session): Promise<Facts> {
  const { subject } = session;
  const base = { wire: subject.wire, scope: subject.scope, ...(subject.hosts && { hosts: subject.hosts }) };
  try {
    const { start, eras } = await probeEras(session);
    const known = await Promise.all(eras.map((era) => readEra(era, session)));
    const tried = await tryTool(session, known);
    const processes = await probeProcesses(eras);
    const facts = known.map(({ facts }) => facts);
    return { ...base, start, eras: facts, ...tried, ...(subject.wire === "stdio" && { processes }) };
  } finally {
    await session.close();
  }
}

async function readEra({ facts, link }: OpenEra, { subject }: Session): Promise<OpenEra> {
  if (facts.outcome !== "spoken") return { facts, link };
  const catalogue = await probeCatalogue(link);
  const unknownVersion = await probeUnknownVersion(facts, link);
  const contradiction = subject.wire === "http" ? await probeContradiction(facts, link) : undefined;
  const errors = await probeErrors(facts, link);
  return { link, facts: { ...facts, catalogue, errors, unknownVersion, contradiction } };
}

/** Makes the calls that the user allowed, in the newest era that the server speaks. */
async function tryTool(session: Session, eras: readonly OpenEra[]): Promise<Pick<Facts, "trial" | "drain">> {
  const { trial } = session.subject;
  const index = eras.findLastIndex(({ facts }) => facts.outcome === "spoken");
  const era = eras[index];
  if (trial === undefined || era === undefined) return {};
  const { tool, args } = await trial.args(era.facts.catalogue?.tools.items ?? []);
  const tried = await probeTrial(session, era.link, tool, args);
  const errors = [...(era.facts.errors ?? []), ...(await probeToolErrors(era.link))];
  (eras as OpenEra[])[index] = { ...era, facts: { ...era.facts, errors } };
  const drain = await probeDrain(session, era.facts, tried);
  return { trial: tried.facts, ...(drain && { drain }) };
}
