/** Members of errors that callers can see. */
const MEMBERS = [
  "code",
  "rpcCode",
  "data",
  "method",
  "local",
  "kind",
  "status",
  "delivery",
  "retrySafe",
  "step",
  "issues",
];

/** Returns an error as JSON: its name, message, members and causes, without the stack. */
export function describeError(error, depth = 0) {
  if (!(error instanceof Error)) return { thrown: describeValue(error) };
  const described = { name: error.name, message: error.message };
  for (const member of MEMBERS) if (error[member] !== undefined) described[member] = describeValue(error[member]);
  if (error.cause !== undefined && depth < 4) described.cause = describeError(error.cause, depth + 1);
  return described;
}

/** Returns any value as JSON. */
export function describeValue(value) {
  if (value === undefined) return "<undefined>";
  const seen = new Set();
  const text = JSON.stringify(value, (_key, inner) => {
    if (inner instanceof Error) return describeError(inner);
    if (typeof inner === "bigint") return `<bigint ${inner}>`;
    if (typeof inner === "function") return "<function>";
    if (typeof inner !== "object" || inner === null) return inner;
    if (seen.has(inner)) return "<seen>";
    seen.add(inner);
    return inner instanceof Map ? [...inner] : inner;
  });
  return text === undefined ? `<${typeof value}>` : JSON.parse(text);
}
