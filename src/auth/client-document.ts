/** Returns the reason why a text cannot be the URL of a client metadata document; undefined if it can. */
export function clientDocumentUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a valid URL";
  const url = new URL(text);
  if (url.protocol !== "https:") return "is not https";
  if (url.username !== "" || url.password !== "") return "contains credentials";
  if (text.includes("#")) return "has a fragment";
  if (url.pathname === "/") return "has no path";
  // The URL is the client id, which is compared as text. Only the normalized form is accepted, so that a document has
  // one id.
  return url.href === text ? undefined : `is not normalized: write ${url.href}`;
}
