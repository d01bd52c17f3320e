import { isPrivate } from "../../auth/addresses.js";

/** Start of an IPv4 address in the form of IPv6. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i;
/** Number of groups of an IPv6 address that name a network. Its owner has all addresses in it. */
const NETWORK_GROUPS = 4;

/**
 * Returns what tells the owner of an address from others: an IPv4 address, or the network of an IPv6 address. Returns
 * undefined for a private address, which may be that of a proxy.
 */
export function networkOf(address: string | undefined): string | undefined {
  if (address === undefined || isPrivate(address)) return undefined;
  const plain = address.replace(MAPPED, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const groups = head.split(":");
  if (tail !== undefined) groups.push(...Array<string>(NETWORK_GROUPS).fill("0"));
  return groups.slice(0, NETWORK_GROUPS).join(":");
}
