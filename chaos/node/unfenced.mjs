import { withParts } from "./parts.mjs";

/** Returns a cluster without its fence: an earlier writer of a stream claims it again and writes on. */
export function withoutFence(cluster) {
  const { logs } = cluster;
  const claim = async (log, stream) => new UnfencedWriter(await logs.claim(log, stream), () => logs.claim(log, stream));
  return withParts(cluster, { logs: withParts(logs, { claim }) });
}

class UnfencedWriter {
  #claim;
  #ids = [];
  #inner;
  #seq = 0;

  constructor(inner, claim) {
    this.#inner = inner;
    this.#claim = claim;
  }

  async append(seq, data, options) {
    const known = this.#ids[seq];
    if (known !== undefined) return known;
    const id = await this.#write(data, options);
    this.#seq++;
    this.#ids[seq] = id;
    return id;
  }

  wrote(id) {
    return this.#inner.wrote(id);
  }

  async #write(data, options) {
    try {
      return await this.#inner.append(this.#seq, data, options);
    } catch (error) {
      if (error.failure !== "fenced") throw error;
      this.#inner = await this.#claim();
      this.#seq = 0;
      return this.#inner.append(0, data, options);
    }
  }
}
