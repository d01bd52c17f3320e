import { layers } from "./choose.mjs";

/**
 * Compares the results with the list of known survivors. Returns kills per layer, survivors that are not listed, listed
 * ones that are killed now, and `problems`, one line each. A survivor with a `reason` changes no behaviour and does not
 * count.
 */
export function judged(results, { bound, survivors }) {
  const known = new Map(survivors.map((survivor) => [survivor.id, survivor]));
  const isEquivalent = ({ id, killer }) => killer === undefined && known.get(id)?.reason !== undefined;
  const rates = layers.flatMap(([layer]) => {
    const own = results.filter((result) => result.layer === layer);
    if (own.length === 0) return [];
    const killed = own.filter(({ killer }) => killer !== undefined).length;
    const equivalent = own.filter(isEquivalent).length;
    const counted = own.length - equivalent;
    return [{ layer, mutants: own.length, killed, equivalent, rate: counted === 0 ? 1 : killed / counted }];
  });
  const alive = results.filter(({ killer }) => killer === undefined);
  const fresh = alive.filter(({ id }) => !known.has(id));
  const gone = results.filter(({ id, killer }) => killer !== undefined && known.has(id));
  const problems = [
    ...rates
      .filter(({ rate }) => rate < bound)
      .map(({ layer, rate }) => `${layer}: ${percent(rate)} of the mutants are killed`),
    ...fresh.map((mutant) => `${lineOf(mutant)} survives and is not in tools/mutants/survivors.json`),
  ];
  return { rates, alive: alive.map(entryOf), gone: gone.map(({ id }) => id), problems };
}

/**
 * Returns the list after these results: their survivors, and the listed ones of `chosen` that did not run, with their
 * reasons.
 */
export function ledgerOf(results, ledger, chosen) {
  const reasons = new Map(ledger.survivors.map(({ id, reason }) => [id, reason]));
  const ran = new Set(results.map(({ id }) => id));
  const alive = results.filter(({ killer }) => killer === undefined).map(entryOf);
  const known = new Set(chosen.map(({ id }) => id));
  const waiting = ledger.survivors.filter(({ id }) => known.has(id) && !ran.has(id));
  const survivors = [...alive, ...waiting];
  const named = survivors.map(({ reason, ...survivor }) => {
    const kept = reason ?? reasons.get(survivor.id);
    return kept === undefined ? survivor : { ...survivor, reason: kept };
  });
  return { ...ledger, survivors: named.sort((a, b) => (`${a.file}${a.id}` < `${b.file}${b.id}` ? -1 : 1)) };
}

const entryOf = ({ id, layer, file, line, operator, from, text, kind, reached, ran }) => ({
  id,
  layer,
  file,
  line,
  operator,
  change: kind === "statement" ? `${short(from)} -> left out` : `${short(from)} -> ${short(text)}`,
  files: ran === reached ? ran : `${ran} of ${reached}`,
});

const short = (code) => {
  const text = code.replace(/\s+/g, " ");
  return text.length > 100 ? `${text.slice(0, 60)} ... ${text.slice(-30)}` : text;
};

const percent = (rate) => `${Math.floor(rate * 100)} %`;

const lineOf = ({ id, file, line, operator, from, text, kind }) =>
  `${id} ${file}:${line} ${operator}: ${entryOf({ from, text, kind }).change}`;

/** Returns the report as text. */
export function told({ rates, alive, gone, problems }) {
  const rows = rates.map(({ layer, mutants, killed, equivalent, rate }) =>
    [
      layer.padEnd(14),
      String(mutants).padStart(7),
      String(killed).padStart(7),
      String(equivalent).padStart(11),
      percent(rate).padStart(6),
    ].join(" "),
  );
  return [
    `${"layer".padEnd(14)} mutants  killed equivalent   rate`,
    ...rows,
    "",
    ...alive.map(
      ({ id, file, line, operator, change, files }) =>
        `survives ${id} ${file}:${line} ${operator}: ${change} (${files} files)`,
    ),
    ...gone.map((id) => `${id} is killed and still in tools/mutants/survivors.json; --update takes it out`),
    ...problems.map((problem) => `FAIL ${problem}`),
  ].join("\n");
}
