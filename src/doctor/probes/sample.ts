import { type Recorded, recordedPosts, type Sample } from "../exchanges.js";
import type { OpenEra } from "./eras.js";

const SESSION = "mcp-session-id";

/** Requests of the connections to a URL, and the one that probes repeat. */
export interface Traffic {
  /** Requests in the eras that the server speaks; in all of them if it serves no client. */
  readonly posts: readonly Recorded[];
  /** The first request of a connection: of one that is served, and keeps nothing, if there is one. */
  readonly sample: Sample;
  /** True if a client is served. */
  readonly isSpoken: boolean;
}

/** Returns undefined if no request was sent. */
export function trafficOf(eras: readonly OpenEra[], url: URL): Traffic | undefined {
  const known = eras.map(({ facts, link }) => ({ facts, posts: recordedPosts(link.events, url) }));
  const spoken = known.filter(({ facts }) => facts.outcome === "spoken");
  const counted = spoken.length > 0 ? spoken : known;
  const openings = counted.flatMap(({ posts: [first] }) => first ?? []);
  const opening = openings.find(({ headers }) => !(SESSION in headers)) ?? openings[0];
  if (opening === undefined) return undefined;
  return { posts: counted.flatMap(({ posts }) => posts), sample: opening.asked, isSpoken: spoken.length > 0 };
}
