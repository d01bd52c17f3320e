import { inspect } from "node:util";

/**
 * Reporter for node:test that writes a line of JSON for each test that has ended and for each warning of the runner.
 */
export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (type === "test:diagnostic" && /^(Error|Warning):/.test(data.message)) {
      yield `${JSON.stringify({ kind: "warning", message: data.message })}\n`;
    }
    if ((type === "test:pass" || type === "test:fail") && data.details?.type !== "suite") {
      yield `${JSON.stringify({ kind: "test", ...told(type, data) })}\n`;
    }
  }
}

function told(type, { name, nesting, skip, todo, details }) {
  const error = details?.error;
  return {
    name,
    nesting,
    ms: Math.round(details?.duration_ms ?? 0),
    isLeftOut: skip !== undefined || todo !== undefined,
    isDerived: error?.failureType === "subtestsFailed",
    error: type === "test:pass" ? undefined : inspect(error?.cause ?? error, { depth: 4 }),
  };
}
