import type { ChannelEra, ServerEra } from "../../server-era.js";
import { ModernSession } from "./session.js";

/** The era with what channels take. */
export function withChannels(era: ServerEra): ChannelEra {
  return { ...era, attach: (host, wire) => new ModernSession(era, host, wire) };
}
