import { isLoopback, isPrivate } from "./addresses.js";

/** Which addresses that others name may be asked. */
export interface AddressPolicy {
  /** Plain HTTP to other machines. */
  readonly allowInsecure: boolean;
  /** Addresses that the public internet does not reach. */
  readonly allowPrivate: boolean;
  /** Addresses of this machine, though not those of its networks. */
  readonly allowLoopback?: boolean;
  /** Resolves a name, so that the addresses behind it can be looked at. */
  readonly resolve?: ((hostname: string) => Promise<readonly string[]>) | undefined;
}

/** Why an address is not asked; undefined if it may be. */
export async function addressProblem(url: URL, policy: AddressPolicy): Promise<string | undefined> {
  const { allowInsecure, allowPrivate, allowLoopback = false, resolve } = policy;
  if (!/^https?:$/.test(url.protocol)) return `${url.protocol} is not HTTP`;
  const secure = url.protocol === "https:" || isLoopback(url.hostname) || allowInsecure;
  if (!secure) return "it is not https";
  if (url.username !== "" || url.password !== "") return "it carries credentials";
  const refused = (host: string) => !allowPrivate && isPrivate(host) && !(allowLoopback && isLoopback(host));
  if (refused(url.hostname)) return "it is a private address";
  const addresses = allowPrivate ? [] : ((await resolve?.(url.hostname)) ?? []);
  return addresses.some(refused) ? "its name stands for a private address" : undefined;
}
