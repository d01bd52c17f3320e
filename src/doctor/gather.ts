import type { EraFacts, Facts } from "./facts.js";
import { probeAuth } from "./probes/auth.js";
import { probeCatalogue } from "./probes/catalogue.js";
import { type OpenEra, probeEras } from "./probes/eras.js";
import { probeContradiction, probeErrors, probeToolErrors, probeUnknownVersion } from "./probes/errors.js";
import { probeHttp } from "./probes/http.js";
import { probeProcesses } from "./probes/processes.js";
import { probeDrain, probeTrial, type Tried } from "./probes/trial.js";
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
    const http = await probeHttp(session, eras);
    const auth = await probeAuth(session, eras);
    const drain = tried && (await probeDrain(session, tried.era, tried));
    const processes = await probeProcesses(eras);
    const facts = known.map(({ facts }) => facts);
    return {
      ...base,
      start,
      eras: facts,
      ...(tried && { trial: tried.facts }),
      ...(drain && { drain }),
      ...(http && { http }),
      ...(auth && { auth }),
      ...(subject.wire === "stdio" && { processes }),
    };
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
async function tryTool(session: Session, eras: OpenEra[]): Promise<(Tried & { readonly era: EraFacts }) | undefined> {
  const { trial } = session.subject;
  const index = eras.findLastIndex(({ facts }) => facts.outcome === "spoken");
  const era = eras[index];
  if (trial === undefined || era === undefined) return undefined;
  const { tool, args } = await trial.args(era.facts.catalogue?.tools.items ?? []);
  const tried = await probeTrial(session, era.link, tool, args);
  const errors = [...(era.facts.errors ?? []), ...(await probeToolErrors(era.link))];
  eras[index] = { ...era, facts: { ...era.facts, errors } };
  return { ...tried, era: era.facts };
}
