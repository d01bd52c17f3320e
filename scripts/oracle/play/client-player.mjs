import { describeError, describeValue } from "./describe.mjs";
import { Journal } from "./journal.mjs";
import { quiet, settles } from "./quiet.mjs";
import { ChannelPeer, HttpPeer } from "./scripted-peer.mjs";

/**
 * Plays a script of calls with a client of a build against a scripted server. Records the messages of the client and
 * the outcomes of its calls.
 *
 * A step is `{ call, args, options, as }`, `{ abort }` and `{ unwatch }` for a call by its name, `{ advance }` for the
 * clock, or `{ push }`, `{ finish }`, `{ cut }` for the server.
 * @param {Record<string, any>} sdk
 * @param {any} scenario
 */
export async function playClient(sdk, scenario) {
  const clock = new sdk.FakeClock();
  const journal = new Journal(() => clock.now());
  const peer =
    scenario.wire === "http"
      ? new HttpPeer(scenario.rules, journal, scenario.url)
      : new ChannelPeer(scenario.rules, journal, sdk.createChannelPair());
  const play = new Play(sdk, journal, clock, peer);
  const options = {
    clock,
    warnDeprecated: false,
    ...journal.options,
    ...handlers(sdk, journal, clock, scenario),
    ...peer.options,
    ...scenario.options,
  };
  play.begin("connect", () => play.connect(options));
  await play.settle("connect");
  for (const step of scenario.steps) await play.step(step);
  await play.close();
  return journal;
}

class Play {
  #sdk;
  #journal;
  #clock;
  #peer;
  #client;
  #calls = new Map();
  #aborts = new Map();
  #watches = new Map();

  constructor(sdk, journal, clock, peer) {
    this.#sdk = sdk;
    this.#journal = journal;
    this.#clock = clock;
    this.#peer = peer;
  }

  async connect(options) {
    this.#client = await this.#sdk.connect(this.#peer.target, options);
    const { version, era, server, session, prior } = this.#client;
    return { version, era, server, session, prior };
  }

  /** Begins a call and records its outcome when it ends. */
  begin(name, run) {
    const ended = (async () => run())().then(
      (result) => this.#journal.saw(`${name} ends`, result ?? null),
      (error) => this.#journal.saw(`${name} fails`, describeError(error)),
    );
    this.#calls.set(name, ended);
  }

  async settle(name) {
    await settles(this.#calls.get(name) ?? Promise.resolve());
    await quiet();
  }

  async step(step) {
    if (step.call !== undefined) this.#call(step);
    else if (step.abort !== undefined)
      this.#aborts.get(step.abort)?.abort(step.reason === undefined ? undefined : new Error(step.reason));
    else if (step.unwatch !== undefined) await this.#watches.get(step.unwatch)?.close();
    else if (step.advance !== undefined) await this.#advance(step);
    else if (step.push !== undefined) this.#peer.push(step.push);
    else if (step.finish !== undefined) this.#peer.end(step.finish);
    else if (step.cut !== undefined) this.#peer.cut(step.cut);
    await quiet();
  }

  async close() {
    if (this.#client !== undefined) {
      this.#journal.saw("pending", this.#client.pending);
      this.begin("close", () => this.#client.close());
    }
    await quiet();
    this.#clock.advance(120_000);
    await quiet();
  }

  async #advance({ advance, times = 1 }) {
    for (let done = 0; done < times; done++) {
      this.#clock.advance(advance);
      await quiet();
    }
  }

  #call({ call, args = [], options, as = call }) {
    if (this.#client === undefined) return this.#journal.saw(`${as}: there is no client`);
    this.begin(as, async () => {
      const given = options === undefined ? args : [...args, this.#toOptions(as, options)];
      const result = call === "watch" ? this.#watch(...given) : this.#client[call](...given);
      if (typeof result?.all === "function") return result.all();
      return call === "watch" ? this.#follow(as, await result) : result;
    });
  }

  /** Opens a watch. The option `resubscribe` is `relisten` in builds of 0.1.0; the newer ones refuse that name. */
  async #watch(filter, { resubscribe, ...options } = {}) {
    if (resubscribe === undefined) return await this.#client.watch(filter, options);
    try {
      return await this.#client.watch(filter, { ...options, relisten: resubscribe });
    } catch (error) {
      if (error.code !== "definition_error") throw error;
      return await this.#client.watch(filter, { ...options, resubscribe });
    }
  }

  #toOptions(as, { signal, onProgress, onResumable, ...plain }) {
    const abort = new AbortController();
    if (signal) this.#aborts.set(as, abort);
    return {
      ...plain,
      ...(signal && { signal: abort.signal }),
      ...(onProgress && { onProgress: (progress) => this.#journal.saw(`${as} progress`, progress) }),
      ...(onResumable && { onResumable: (token) => this.#journal.saw(`${as} resumable`, token) }),
    };
  }

  #follow(as, watch) {
    this.#watches.set(as, watch);
    this.begin(`${as} loop`, async () => {
      for await (const change of watch) this.#journal.saw(`${as} change`, change);
      return watch.ended;
    });
    const { resourceSubscriptions, ...honoured } = watch.honoured;
    // The name in builds of 0.1.0.
    return resourceSubscriptions === undefined ? honoured : { ...honoured, resources: resourceSubscriptions };
  }
}

const ELICITED = {
  accept: () => ({ action: "accept", content: { name: "Ada" } }),
  decline: () => ({ action: "decline" }),
  wrong: () => ({ action: "accept", content: { name: 5 } }),
  fails: () => {
    throw new Error("the form is broken");
  },
};

/** Returns the handlers and options of the client's author that a scenario asks for. */
function handlers(sdk, journal, clock, { answering, hears, retries, intercepts }) {
  const answer = (what, value) => (question) => {
    journal.saw(what, question ?? null);
    return value(question);
  };
  const elicited = ELICITED[answering];
  return {
    onClose: (reason) => journal.saw("client closes", reason === undefined ? null : describeError(reason)),
    onOpen: (server) => journal.saw("client opens", describeValue(server.capabilities)),
    ...(elicited && {
      onElicit: answer("form", elicited),
      onElicitUrl: answer("page", elicited),
      onSample: answer("sample", () => ({ role: "assistant", content: { type: "text", text: "Hi" }, model: "m-1" })),
      roots: [{ uri: "file:///work", name: "work" }],
      methods: { "com.example/question": answer("own", () => ({ own: true })) },
    }),
    ...(hears && {
      onNotification: (notification) => journal.saw("notification", notification),
      notifications: { "notifications/message": (params) => journal.saw("message", params) },
      onListChanged: { tools: { onChange: (update) => journal.saw("tools", update) } },
    }),
    ...(retries && { interceptors: [sdk.retry({ ...retries, clock })] }),
    ...(intercepts && {
      interceptors: [
        async (call, next) => {
          journal.saw("before", { method: call.method, params: call.params ?? null });
          return next(call);
        },
      ],
    }),
  };
}
