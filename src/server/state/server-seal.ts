import type { ServerHost, StateSeal } from "../../era/server-era.js";
import { DEFAULTS, type ServerOptions } from "../options.js";
import { createStateSeal } from "./state-seal.js";

/** The seal of one server. What is wrong with the options has been said. */
export function createServerSeal(host: ServerHost, options: ServerOptions): StateSeal {
  return createStateSeal({
    keys: options.stateKeys,
    codec: options.stateCodec,
    audience: options.stateAudience ?? host.info.name,
    ttlMs: options.stateTtlMs ?? DEFAULTS.stateTtlMs,
    clock: host.clock,
    accept: options.acceptState,
    onRefused: (reason) => host.report(new Error(`a requestState was refused: ${reason}`), { where: "requestState" }),
  });
}
