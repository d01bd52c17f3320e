/** Returns the principal of a client, and the number of its attempt to connect, from its token. */
export function callerOf(authorization = "") {
  const [principal, attempt] = authorization.replace(/^Bearer /, "").split(".");
  return { principal, attempt };
}

/** Returns the token of a client in its attempt to connect. */
export function tokenOf(principal, attempt) {
  return `Bearer ${principal}.${attempt}`;
}
