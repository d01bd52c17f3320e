/** Says why a text cannot be the id of a client that a metadata document describes; undefined if it can. */
export function clientDocumentUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:") return "is not https";
  if (url.username !== "" || url.password !== "") return "carries credentials";
  if (text.includes("#")) return "has a fragment";
  if (url.pathname === "/") return "has no path";
  // No other text may mean the same document: what the URL parser makes of it is what it was.
  return url.href === text ? undefined : `is not spelt as ${url.href}`;
}
