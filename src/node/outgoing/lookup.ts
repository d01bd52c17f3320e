import type { LookupAddress, LookupOptions } from "node:dns";

/** Resolver of host names, as `lookup` of `node:dns`. */
export type LookupAll = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;
