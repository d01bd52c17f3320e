/**
 * Names of keys and channels. A key has the kind, a hash tag and the name. The tag is a hash of the name, so that all keys
 * of one name are in one slot of a Redis Cluster, whatever characters the name has. Equal hashes are harmless, since the
 * key has the name too.
 */
export class Keys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Returns the key of a part of a name. `kind` has letters only. */
  key(kind: string, name: string, part = ""): string {
    return `${this.#prefix}:${kind}${part}:{${tagOf(name)}}:${name}`;
  }

  channel(kind: string, name: string): string {
    return `${this.#prefix}:${kind}:${name}`;
  }
}

/** FNV-1a hash of 32 bits. */
function tagOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}
