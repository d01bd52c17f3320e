import { DefinitionError } from "../../protocol/errors.js";

/** Rules for names in a group. */
export interface NameRules {
  /** Text between the name of the server and the name of the tool or prompt. */
  readonly separator: string;
  readonly maxLength: number;
}

/** Maximum length of a tool name (MCP). */
const LONGEST_NAME = 128;
const SHORTEST_LIMIT = 48;
const SEPARATOR = /^(_{1,4}|-{1,4}|\.{1,4})$/;
/** Minimum length that remains for the tools' own names. */
const LEAST_ROOM = 24;
const HASH_LENGTH = 8;
const FOREIGN = /[^A-Za-z0-9_.-]/g;

/** Throws for rules that would produce invalid or ambiguous names. */
export function assertNameRules({ separator, maxLength }: NameRules): void {
  if (!SEPARATOR.test(separator)) {
    throw new DefinitionError(
      `createGroup: separator must be one to four times the same character _, - or ., got ${JSON.stringify(separator)}`,
    );
  }
  if (!Number.isInteger(maxLength) || maxLength < SHORTEST_LIMIT || maxLength > LONGEST_NAME) {
    throw new DefinitionError(
      `createGroup: maxNameLength must be a whole number from ${SHORTEST_LIMIT} to ${LONGEST_NAME}, got ${JSON.stringify(maxLength)}`,
    );
  }
}

/**
 * Returns the prefix of each server, with separator. A server name is kept if it is valid, short enough and without the
 * separator. Otherwise `cleanPrefix` changes it, and it gets a hash of itself. The result depends on the names alone.
 */
export function prefixesOf(servers: readonly string[], rules: NameRules): ReadonlyMap<string, string> {
  const prefixes = new Map<string, string>();
  const taken = new Set<string>();
  const isPlain = (name: string) => cleanPrefix(name, rules) === name;
  for (const name of [...servers].sort((a, b) => Number(isPlain(b)) - Number(isPlain(a)) || (a < b ? -1 : 1))) {
    let prefix = isPlain(name) ? name : marked(cleanPrefix(name, rules), name, rules);
    for (let round = 1; taken.has(prefix); round++)
      prefix = marked(cleanPrefix(name, rules), `${name} ${round}`, rules);
    taken.add(prefix);
    prefixes.set(name, prefix + rules.separator);
  }
  return prefixes;
}

/**
 * Returns the group names of the tools or prompts under a prefix. Names that are valid and short enough are kept after
 * the prefix. In others, invalid characters are replaced, and they are shortened and get a hash of themselves. Equal
 * names get the same result.
 */
export function namesUnder(prefix: string, given: readonly string[], rules: NameRules): ReadonlyMap<string, string> {
  const room = rules.maxLength - prefix.length;
  const isPlain = (name: string) => name !== "" && name.length <= room && name.search(FOREIGN) === -1;
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of given.filter(isPlain)) {
    names.set(name, prefix + name);
    taken.add(name);
  }
  for (const name of given) {
    if (names.has(name)) continue;
    const stem = name.replaceAll(FOREIGN, "_").slice(0, room - HASH_LENGTH - 1);
    let short = `${stem}_${hash(name)}`;
    for (let round = 1; taken.has(short); round++) short = `${stem}_${hash(`${name} ${round}`)}`;
    names.set(name, prefix + short);
    taken.add(short);
  }
  return names;
}

/**
 * Shortens a server name, and replaces its invalid characters and separators. The first separator in a group name is
 * then the one after the prefix.
 */
function cleanPrefix(name: string, { separator, maxLength }: NameRules): string {
  let clean = name.replaceAll(FOREIGN, "_").slice(0, maxLength - separator.length - LEAST_ROOM);
  for (let at = splitAt(clean, separator); at !== -1; at = splitAt(clean, separator)) {
    clean = `${clean.slice(0, at)}${joiner(separator)}${clean.slice(at + separator.length)}`;
  }
  return clean;
}

/** Returns the position of a separator inside the prefix, or -1. */
function splitAt(clean: string, separator: string): number {
  const at = (clean + separator).indexOf(separator);
  return at === clean.length ? -1 : at;
}

function marked(clean: string, name: string, { separator, maxLength }: NameRules): string {
  const most = maxLength - separator.length - LEAST_ROOM - HASH_LENGTH - 1;
  return `${clean.slice(0, most)}${joiner(separator)}${hash(name)}`;
}

/** Returns a character that cannot be mistaken for the separator. */
function joiner(separator: string): string {
  return separator.startsWith("-") ? "_" : "-";
}

/**
 * FNV-1a over UTF-16 units: the same on every machine. A server that provokes a collision affects only its own names.
 */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    value = Math.imul(value ^ (unit & 0xff), 0x01000193);
    value = Math.imul(value ^ (unit >>> 8), 0x01000193);
  }
  return (value >>> 0).toString(16).padStart(HASH_LENGTH, "0");
}
