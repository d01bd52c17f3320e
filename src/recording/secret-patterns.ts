/** Text that is a secret by its form: kind, and pattern without capturing groups. */
const FORMS: readonly (readonly [kind: string, pattern: string])[] = [
  ["pem", "-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)"],
  ["bearer", "(?<=\\b(?:[Bb]earer|BEARER|DPoP) +)(?=[A-Za-z]*[\\d._~+/=-])[\\w.~+/=-]{8,}"],
  ["basic", "(?<=\\b(?:[Bb]asic|BASIC) +)[A-Za-z\\d+/]{8,}={0,2}"],
  // A user without a password is a token if it is long.
  ["userinfo", "(?<=[A-Za-z]://)(?:[^/\\s:@\"'<>]*:[^/\\s@\"'<>]+|[^/\\s:@\"'<>]{14,})(?=@)"],
  // GitHub, GitLab, npm, PyPI, Hugging Face, Slack, Stripe, AWS, Google, Notion, SendGrid, Linear, and keys that begin
  // with sk-, as those of most providers of models.
  ["key", "(?:gh[pousr]_\\w{20,}|github_pat_\\w{20,}|glpat-[\\w-]{20,})"],
  ["key", "\\b(?:npm_[A-Za-z\\d]{30,}|pypi-[\\w-]{16,}|hf_[A-Za-z\\d]{20,})"],
  ["key", "\\b(?:xox[a-z]-[\\w-]{10,}|xapp-[\\w-]{10,}|[rsp]k_(?:live|test)_[A-Za-z\\d]{10,}|whsec_[\\w+/=]{16,})"],
  ["key", "(?:(?:AKIA|ASIA|AROA)[A-Z\\d]{16}|AIza[\\w-]{30,}|ya29\\.[\\w-]{16,}|GOCSPX-[\\w-]{16,})"],
  ["key", "\\b(?:ntn_[A-Za-z\\d]{20,}|secret_[A-Za-z\\d]{24,}|SG\\.[\\w-]{16,}\\.[\\w-]{16,}|lin_api_\\w{20,})"],
  ["key", "\\bsk-[\\w-]{16,}"],
];

/** What all forms have in common, by which most texts are found to have none. */
const HINT =
  /eyJ|sk-[\w-]{16}|(?:gh[pousr]|_pat|npm|hf|k_(?:live|test)|whsec|ntn|secret|_api)_|A(?:KIA|SIA|ROA)[A-Z\d]|AIza|ya29\.|GOCSPX|xox|xapp|glpat|pypi|SG\.|(?:[Bb]earer|BEARER|DPoP|[Bb]asic|BASIC) |PRIVATE KEY|:\/\/[^/\s@"'<>]+@/;

const ANY_FORM = new RegExp(FORMS.map(([, pattern]) => `(${pattern})`).join("|"), "g");

/** A token, or text that begins like one. It matches in both cases, so that no text is searched again and again. */
const JWT = /eyJ[\w-]{6,}(\.[\w-]{4,}\.[\w-]*)?/g;

/** Replaces all secrets that are recognised by their form. */
export function replaceForms(text: string, replace: (kind: string, value: string) => string): string {
  if (!HINT.test(text)) return text;
  const rest = text.replace(JWT, (value: string, end?: string) => (end === undefined ? value : replace("jwt", value)));
  return rest.replace(ANY_FORM, (value: string, ...groups: unknown[]) => {
    const at = groups.findIndex((group) => group !== undefined);
    const [kind] = FORMS[at] as readonly [string, string];
    return kind === "basic" && !isBasic(value) ? value : replace(kind, value);
  });
}

/** True for a user and a password, which a word that follows "basic" is not. */
function isBasic(value: string): boolean {
  if (/[\d+/=]/.test(value)) return true;
  return value.length % 4 !== 1 && /^[\t\x20-\x7e\x80-\xff]*:/.test(atob(value));
}

/**
 * A name with its value in a text: `password=...`, `"apiKey": "..."`, `--token ...`, also within a string that is JSON
 * itself. The name and what stands before the value are kept.
 */
const NAMED =
  /((?:^|[\s"'\\?&#;,{([/=:-]|%3F|%26)([A-Za-z][\w.-]{1,62}?)\\*["']?(?:\s{0,4}(?:=|:|%3D)\s{0,4}|(?<=--[\w.-]{2,63})\s))(?:(\\*["'])([\s\S]{0,8192}?)\3|([^\s"'\\&#;,}\])<]{1,8192}))/g;

/** Headers in a text, whose values may have spaces. */
const HEADER_LINE =
  /(\b(?:proxy-authorization|authorization|set-cookie|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)([^\r\n"'\\]{1,8192})/gi;

/** An element of XML. */
const ELEMENT = /(<(?:[\w-]{1,62}:)?([A-Za-z][\w.-]{1,62})>)([^<>]{1,8192})(?=<\/)/g;

/** What a text with a named value has. */
const ASSIGNS = /=|:|%3D|--|<\//;

/** Replaces the values of names that are secret. */
export function replaceNamed(
  text: string,
  isSecret: (name: string, value: string, before: string) => boolean,
  replace: (value: string) => string,
): string {
  if (!ASSIGNS.test(text)) return text;
  const lines = text
    .replace(HEADER_LINE, (_all, before: string, value: string) => before + replace(value))
    .replace(ELEMENT, (all: string, before: string, name: string, value: string) =>
      isSecret(name, value, before) ? before + replace(value) : all,
    );
  let result = "";
  let copied = 0;
  NAMED.lastIndex = 0;
  for (let found = NAMED.exec(lines); found !== null; found = NAMED.exec(lines)) {
    const [all, before = "", name = "", quote = "", quoted = "", bare = ""] = found;
    if (isSecret(name, quoted + bare, before)) {
      result += lines.slice(copied, found.index) + before + quote + replace(quoted + bare) + quote;
      copied = found.index + all.length;
    }
    // What looks like the value of another name may be, or have, a name with a value itself.
    else NAMED.lastIndex = found.index + before.length - 1;
  }
  return copied === 0 ? lines : result + lines.slice(copied);
}
