import { channelCorpus } from "./channel-corpus.mjs";
import { clientCorpus } from "./client-corpus.mjs";
import { httpCorpus } from "./http-corpus.mjs";
import { Random } from "./random.mjs";

/**
 * Returns all scenarios of a seed. The list is the same in every process.
 * @param {{ seed: number, count: number, only?: string }} options
 */
export function createCorpus({ seed, count, only }) {
  const all = [
    ...httpCorpus(new Random(seed), count).map((one) => ({ kind: "http", ...one })),
    ...channelCorpus(new Random(seed + 1), Math.ceil(count / 5)).map((one) => ({ kind: "channel", ...one })),
    ...clientCorpus().map((one) => ({ kind: "client", ...one })),
  ];
  if (new Set(all.map(({ name }) => name)).size < all.length) throw new Error("two scenarios have the same name");
  return only === undefined ? all : all.filter(({ name }) => name.includes(only));
}

/** Counts the scenarios of each kind. Each request of an HTTP script counts. */
export function countCorpus(corpus) {
  const of = (kind) => corpus.filter((one) => one.kind === kind);
  const exchanges = of("http").flatMap(({ steps }) =>
    steps.filter(({ act, leave }) => act === undefined && leave === undefined),
  );
  return { exchanges: exchanges.length, channelScripts: of("channel").length, clientScripts: of("client").length };
}
