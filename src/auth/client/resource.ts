/** The address of an MCP server as its tokens name it: no fragment, no default port, no slash after a bare origin. */
export function canonicalResource(server: URL): string {
  const path = server.pathname === "/" && server.search === "" ? "" : server.pathname;
  return `${server.origin}${path}${server.search}`;
}

/**
 * Whether a resource that metadata names is the server or an ancestor of it: the same origin, and a path that ends on a
 * segment boundary of the server's path.
 */
export function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const named = new URL(resource);
  if (named.origin !== server.origin || resource.includes("#")) return false;
  if (named.username !== "" || named.password !== "") return false;
  if (named.search !== "" && named.search !== server.search) return false;
  const path = named.pathname.replace(/\/$/, "");
  return server.pathname === path || server.pathname.startsWith(`${path}/`);
}
