/** Errors of JavaScript that only a defect of the program causes. */
const DEFECT = /\b(TypeError|ReferenceError|RangeError|SyntaxError|AssertionError|ERR_[A-Z_]+)\b/;
/** Parts of texts that differ for each session, stream or connection. */
const VARIABLE = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "…"],
  [/"[0-9a-f]{8}\.\d+"/g, '"…"'],
  [/<html>.*<\/html>/gs, "(page of nginx)"],
  [/(127\.0\.0\.1):\d+/g, "$1"],
  [/chaos:\/\/\S+/g, "chaos://…"],
];

/** Begin of an error that a client of the official SDK reports. Its errors are not those of this project. */
export const OFFICIAL = "official SDK: ";

/** Nodes and clients report no error that only a defect causes. */
export function* noDefects({ nodeErrors = new Map(), clientErrors = new Map() }) {
  for (const [text, count] of nodeErrors) if (DEFECT.test(text)) yield `a node reports ${count} times: ${text}`;
  for (const [text, count] of clientErrors)
    if (DEFECT.test(text) && !text.startsWith(OFFICIAL)) yield `a client reports ${count} times: ${text}`;
}

/** Returns the numbers of errors by kind, the most frequent first. */
export function errorKinds(errors = new Map()) {
  const kinds = new Map();
  for (const [text, count] of errors) {
    const kind = VARIABLE.reduce((result, [part, by]) => result.replaceAll(part, by), text);
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  }
  return [...kinds].sort(([, one], [, other]) => other - one);
}
