/** What the doctor says about a server, as far as a judgement needs it. */
export interface Told {
  readonly rule: string;
  readonly level: string;
  readonly place: string;
  readonly text: string;
  readonly evidence: readonly { readonly line: number; readonly text: string }[];
}

/** A finding that a reader has compared with the traffic. */
export interface Judged {
  /** Name of the server, or `*` for each. */
  readonly server: string;
  readonly rule: string;
  readonly place: string;
  /** Part of its text. */
  readonly says: string;
  /** Why the finding is true. */
  readonly verdict: string;
  /** True if the finding depends on the speed of the machine. It may be missing. */
  readonly sometimes?: boolean;
}

/** A finding of a server that nobody has judged, or that shows no line. */
export interface Doubt {
  readonly server: string;
  readonly finding: Told;
  readonly problem: "not judged" | "no line of evidence";
}

export interface Comparison {
  readonly doubts: readonly Doubt[];
  /** Judged findings of the examined servers that are no longer found. */
  readonly missing: readonly Judged[];
}

/** Compares the findings of each examined server with those that were judged. */
export function compareFindings(examined: ReadonlyMap<string, readonly Told[]>, judged: readonly Judged[]): Comparison {
  const doubts = [...examined].flatMap(([server, findings]) =>
    findings.flatMap((finding): Doubt[] => [
      ...(judged.some((one) => concerns(one, server, finding))
        ? []
        : [{ server, finding, problem: "not judged" } as const]),
      ...(finding.evidence.some(({ text }) => text !== "")
        ? []
        : [{ server, finding, problem: "no line of evidence" } as const]),
    ]),
  );
  const missing = judged.filter((one) => {
    const findings = examined.get(one.server);
    return one.sometimes !== true && findings?.some((finding) => concerns(one, one.server, finding)) === false;
  });
  return { doubts, missing };
}

function concerns(judged: Judged, server: string, { rule, place, text }: Told): boolean {
  const isServer = judged.server === "*" || judged.server === server;
  return isServer && judged.rule === rule && judged.place === place && text.includes(judged.says);
}
