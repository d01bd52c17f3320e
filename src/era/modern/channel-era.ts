import type { ChannelEra } from "../era.js";
import { modernServer } from "./server-era.js";
import { ModernSession } from "./session.js";

/** The era in which each request stands for itself, over channels too. */
export const modernChannels: ChannelEra = {
  ...modernServer,
  attach: (host, wire) => new ModernSession(modernServer, host, wire),
};
