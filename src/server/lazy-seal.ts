import type { StateSeal } from "../era/era.js";
import { assertSealOptions, type SealOptions } from "./seal-options.js";

/** A seal whose cryptography is loaded with the first state: few servers ask. What is wrong with the options is said now. */
export function createLazySeal(options: SealOptions): StateSeal {
  assertSealOptions(options);
  let loading: Promise<StateSeal> | undefined;
  const load = () => {
    loading ??= import("./state-seal.js").then(({ createStateSeal }) => createStateSeal(options));
    return loading;
  };
  return {
    seal: async (state, binding) => (await load()).seal(state, binding),
    open: async (text, binding) => (await load()).open(text, binding),
    tryOpen: async (text, binding) => (await load()).tryOpen(text, binding),
  };
}
