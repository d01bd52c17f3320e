/**
 * Returns what the URL of a page that a user is asked to open must be; undefined if it is that. A URL with a user name or
 * password discloses a secret, or shows another host than its own.
 */
export function findPageUrlProblem(url: string): string | undefined {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return "an absolute http or https URL";
  const { username, password } = new URL(url);
  return username + password === "" ? undefined : "a URL without user name and password";
}
