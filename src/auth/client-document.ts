/** An https address with a path, spelt so that no other text means the same document. */
const PLAIN = /^https:\/\/[^/?#@\\\s]+\/[^?#\\\s]+(\?[^#\\\s]*)?$/;
const DOT_SEGMENT = /^(\.|%2e){1,2}$/i;

/** Says why a text cannot be the id of a client that a metadata document describes; undefined if it can. */
export function clientDocumentUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  const path = text.replace(/[?#].*$/s, "").replace(/^[a-z]+:\/\/[^/]*/i, "");
  if (url.protocol !== "https:") return "is not https";
  if (url.pathname === "/") return "has no path";
  if (text.includes("#")) return "has a fragment";
  if (url.username !== "" || url.password !== "") return "carries credentials";
  if (path.split("/").some((segment) => DOT_SEGMENT.test(segment))) return "has dot segments";
  return PLAIN.test(text) ? undefined : "can be spelt in another way";
}
