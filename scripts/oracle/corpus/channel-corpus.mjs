import { ASKING_CALLS, CALLS, NOTIFICATIONS, WAITING_CALLS } from "./catalogue.mjs";
import { channelStories } from "./channel-stories.mjs";
import { notification, request, wordsOf } from "./channel-words.mjs";
import { mutateFrame } from "./mutate.mjs";
import { enveloped, INITIALIZED, initializeMessage, LEGACY } from "./requests.mjs";

const ERAS = ["modern", ...LEGACY];
/** Calls of the catalogue in one script. */
const CALLS_EACH = 8;

/**
 * Returns the scripts of frames.
 * @param {import("./random.mjs").Random} random
 * @param {number} count number of scripts with faults
 */
export function channelCorpus(random, count) {
  const scripts = ERAS.flatMap((era) => [...flawless(era), ...channelStories(era)]).concat(
    openings(),
    spoilt(random, count),
  );
  return scripts.map(([name, server, steps, more], at) => ({
    name: `channel ${at} ${name}`,
    server,
    wire: at % 4 === 3 ? "stdio" : "memory",
    steps,
    ...more,
  }));
}

function flawless(era) {
  const { opening, ask } = wordsOf(era);
  const all = [...CALLS, ...ASKING_CALLS, ...WAITING_CALLS];
  const kinds = ["plain", "options", "extended", "intercepted"];
  const scripts = [];
  for (let at = 0; at < all.length; at += CALLS_EACH) {
    const frames = all
      .slice(at, at + CALLS_EACH)
      .map(([method, params], place) => ask(at + place, method, params, { progressToken: place }));
    const steps = at % (2 * CALLS_EACH) === 0 ? frames.map((send) => ({ send })) : [{ together: frames }];
    scripts.push([`${era} calls from ${at}`, kinds[(at / CALLS_EACH) % 4], [...opening, ...steps, { act: "release" }]]);
  }
  const heard = NOTIFICATIONS.map(([method, params]) => ({ send: notification(method, params) }));
  scripts.push([`${era} notifications`, "extended", [...opening, ...heard, { send: ask("last", "tools/list") }]]);
  return scripts;
}

/** Returns the possible openings of a connection. */
function openings() {
  const list = request(1, "tools/list", {});
  const modern = request(2, "tools/list", enveloped());
  const starts = {
    "no handshake": [list, request(2, "ping")],
    "handshake twice": [initializeMessage(), INITIALIZED, initializeMessage(LEGACY[1], {}, "again")],
    "call before initialized": [initializeMessage(), list],
    "both eras": [modern, initializeMessage(), INITIALIZED, list, modern],
    "legacy then modern": [initializeMessage(), INITIALIZED, modern, request(3, "server/discover", enveloped())],
    discover: [
      request(1, "server/discover", enveloped()),
      request(2, "server/discover", {}),
      request(3, "server/discover"),
    ],
    "wrong handshake": [
      request(1, "initialize"),
      request(2, "initialize", {}),
      request(3, "initialize", { protocolVersion: 5 }),
    ],
    "batched handshake": [
      [initializeMessage(), list],
      [INITIALIZED, list],
    ],
  };
  const versions = ["2099-01-01", "2024-10-07", "", "2026-07-28"].map((version) => [
    `version ${version}`,
    [initializeMessage(version), INITIALIZED, list],
  ]);
  return [...Object.entries(starts), ...versions].flatMap(([name, frames]) =>
    ["plain", "one-version", "two-versions", "bare"].map((kind) => [
      `opening ${name} on ${kind}`,
      kind,
      frames.map((send) => ({ send })),
    ]),
  );
}

function spoilt(random, count) {
  const all = [...CALLS, ...ASKING_CALLS];
  return Array.from({ length: count }, (_one, at) => {
    const era = random.pick(ERAS);
    const { opening, ask } = wordsOf(era);
    const frames = Array.from({ length: 5 }, (_frame, place) => {
      const [method, params] = random.pick(all);
      return {
        send: mutateFrame(
          ask(place, method, params, random.chance(0.3) ? { progressToken: place } : undefined),
          random,
        ),
      };
    });
    const first = opening.map(({ send }) => ({ send: random.chance(0.05) ? mutateFrame(send, random) : send }));
    return [`spoilt ${at} ${era}`, random.pick(["plain", "options", "extended", "limits"]), [...first, ...frames]];
  });
}
