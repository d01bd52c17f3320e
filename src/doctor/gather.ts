import type { EraFacts, Facts } from "./facts.js";
import { probeAuth } from "./probes/auth.js";
import { probeCatalogue } from "./probes/catalogue.js";
import { type OpenEra, probeEras } from "./probes/eras.js";
import { probeHttp } from "./probes/http.js";
import { probeProcesses } from "./probes/processes.js";
import type { Session } from "./session.js";

/**
 * Gathers all facts, once. A new probe is a function in `probes/` that takes the session, returns a member of `Facts`, and is
 * called here. Probes that open their own connections or exchanges (`session.open`, `session.fetch`) may run beside others.
 */
export async function gather(session: Session): Promise<Facts> {
  const { subject } = session;
  try {
    const { start, eras } = await probeEras(session);
    const known = await Promise.all(eras.map(readEra));
    const http = await probeHttp(session, eras);
    const auth = await probeAuth(session, eras);
    const processes = await probeProcesses(eras);
    return {
      wire: subject.wire,
      start,
      eras: known,
      ...(http && { http }),
      ...(auth && { auth }),
      ...(subject.wire === "stdio" && { processes }),
    };
  } finally {
    await session.close();
  }
}

async function readEra({ facts, link }: OpenEra): Promise<EraFacts> {
  if (facts.outcome !== "spoken") return facts;
  return { ...facts, catalogue: await probeCatalogue(link) };
}
