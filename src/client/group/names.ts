import { DefinitionError } from "../../protocol/errors.js";

/** How the names of a group are made. */
export interface NameRules {
  /** Between the server's name and the name that it gave. */
  readonly separator: string;
  readonly maxLength: number;
}

/** The longest that the protocol wants the name of a tool to be. */
const LONGEST_NAME = 128;
const SHORTEST_LIMIT = 48;
const SEPARATOR = /^(_{1,4}|-{1,4}|\.{1,4})$/;
/** What is left of the longest name for what servers call their tools. */
const LEAST_ROOM = 24;
const HASH_LENGTH = 8;
const FOREIGN = /[^A-Za-z0-9_.-]/g;

/** Throws for rules by which names could not be told apart or would not be valid. */
export function assertNameRules({ separator, maxLength }: NameRules): void {
  if (!SEPARATOR.test(separator)) {
    throw new DefinitionError("separator must be one to four times the same of _, - and .");
  }
  if (!Number.isInteger(maxLength) || maxLength < SHORTEST_LIMIT || maxLength > LONGEST_NAME) {
    throw new DefinitionError(`maxNameLength must be a whole number from ${SHORTEST_LIMIT} to ${LONGEST_NAME}`);
  }
}

/**
 * The prefix of each server, separator included. A name is kept as it is where names under it can be told from those of
 * all other servers; otherwise it is cleaned, cut, and marked by a hash of itself. Depends on the names alone.
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
 * The names under one prefix, for names as the server gave them: its own where they fit the protocol's rules, cut and
 * marked by a hash otherwise. Equal names get one.
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

/** Without foreign characters, and so that the separator after it is the first in any name. */
function cleanPrefix(name: string, { separator, maxLength }: NameRules): string {
  let clean = name.replaceAll(FOREIGN, "_").slice(0, maxLength - separator.length - LEAST_ROOM);
  for (let at = splitAt(clean, separator); at !== -1; at = splitAt(clean, separator)) {
    clean = `${clean.slice(0, at)}${joiner(separator)}${clean.slice(at + separator.length)}`;
  }
  return clean;
}

/** Where the separator would be found too early. */
function splitAt(clean: string, separator: string): number {
  const at = (clean + separator).indexOf(separator);
  return at === clean.length ? -1 : at;
}

function marked(clean: string, name: string, { separator, maxLength }: NameRules): string {
  const most = maxLength - separator.length - LEAST_ROOM - HASH_LENGTH - 1;
  return `${clean.slice(0, most)}${joiner(separator)}${hash(name)}`;
}

/** What can stand in a prefix without being taken for the separator. */
function joiner(separator: string): string {
  return separator.startsWith("-") ? "_" : "-";
}

/** FNV-1a over UTF-16 units: the same on every machine. Those who make two names meet only meet themselves. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    value = Math.imul(value ^ (unit & 0xff), 0x01000193);
    value = Math.imul(value ^ (unit >>> 8), 0x01000193);
  }
  return (value >>> 0).toString(16).padStart(HASH_LENGTH, "0");
}
