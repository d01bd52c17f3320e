/** Words that make the value of a member, parameter or option a secret. */
const WORDS = [
  ...["token", "secret", "password", "passwd", "pwd", "passphrase", "apikey", "authorization", "cookie", "credential"],
  ...["privatekey", "accesskey", "signingkey", "dpop", "codeverifier", "assertion"],
];
/** Names that are secret, and common in other words. */
const NAMES = ["auth"];

const ANY_WORD = new RegExp(`${WORDS.join("|")}|^(?:${NAMES.join("|")})$`);

/** The working folder has the name of a password. */
const PWD = /pwd$/;
const FOLDER = /^(?:[A-Za-z]:)?(?:[\\/][\w.@ -]*)+$/;

/** Names that contain such a word and tell no secret: numbers of tokens, and members of protocols. */
const HARMLESS =
  /^(?:progresstoken|related.*token|.*tokens|.*token(?:s?)(?:count|limit|budget|usage|type|typehint|endpoint.*|izer.*|estimate)|.*supported|clientassertiontype)$/;

/** Parameters of authorization that are bearer values, under names too common to be secret elsewhere. */
export const CODE_NAMES: ReadonlySet<string> = new Set(["code", "state", "nonce", "code_challenge", "code_verifier"]);

/** Number of names whose verdict is kept. */
const MAX_CACHED = 4_000;

/** What a text has if the name of a parameter in it is one of {@link CODE_NAMES}. */
const CODES = "(?:^|[?&#])(?:code|state|nonce)";

/** Spells a name in one way: lower case, without separators. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Decides by its name if a member is secret. Names that were given by the user come first. */
export class SecretNames {
  readonly #redact: ReadonlySet<string>;
  readonly #keep: ReadonlySet<string>;
  readonly #cache = new Map<string, boolean>();
  /** Matches all texts that have a secret name. Most have none, and need no further search. */
  readonly #hint: RegExp;

  constructor(redact: readonly string[], keep: readonly string[]) {
    this.#redact = new Set(redact.map(plainName));
    this.#keep = new Set(keep.map(plainName));
    // A name may be written with separators anywhere.
    const spelled = [...WORDS, ...NAMES, ...this.#redact].map((word) => [...word].join("[._-]*"));
    this.#hint = new RegExp(`${[...new Set(spelled)].join("|")}|${CODES}`, "i");
  }

  /** True if a text may have a secret name, written in any way. */
  mayBeIn(text: string): boolean {
    return this.#hint.test(text);
  }

  /** True if the value under a name is secret. */
  hides(name: string, value: string): boolean {
    return this.has(name) && !(PWD.test(plainName(name)) && FOLDER.test(value));
  }

  has(name: string): boolean {
    const known = this.#cache.get(name);
    if (known !== undefined) return known;
    const isSecret = this.#judge(plainName(name));
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(name, isSecret);
    return isSecret;
  }

  keeps(name: string): boolean {
    return this.#keep.size > 0 && this.#keep.has(plainName(name));
  }

  #judge(name: string): boolean {
    if (this.#keep.has(name)) return false;
    return this.#redact.has(name) || (ANY_WORD.test(name) && !HARMLESS.test(name));
  }
}
