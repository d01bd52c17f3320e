import { EARLY_CANCELS } from "../limits.mjs";
import {
  floodCalls,
  floodCallsOfPrincipal,
  floodNotifications,
  floodQuestions,
  floodRounds,
  floodSubscriptions,
} from "./by-clients.mjs";
import {
  floodBatches,
  floodBodies,
  floodCancels,
  floodChannelBatches,
  floodHandshakes,
  floodLargeBodies,
  floodStreams,
} from "./by-requests.mjs";
import { FloodTally } from "./flood.mjs";

const everywhere = () => true;
const overNodeHttp = ({ wire }) => wire === "http";
const overHttp = ({ wire }) => wire === "http" || wire === "fetch";
const inHttpSessions = (spec) => spec.era === "legacy" && overHttp(spec);

/** All floods: the limit that each exceeds ten times, and the lanes that it applies to. */
const FLOODS = [
  { name: "calls", bound: "maxCalls, maxCallsPerSession", where: everywhere, make: floodCalls },
  { name: "calls of a principal", bound: "maxCallsPerPrincipal", where: overNodeHttp, make: floodCallsOfPrincipal },
  { name: "subscriptions", bound: "maxSubscriptions", where: everywhere, make: floodSubscriptions },
  { name: "notifications", bound: "maxWaitingNotifications, maxCalls", where: everywhere, make: floodNotifications },
  { name: "questions", bound: "maxQuestions (client)", where: everywhere, make: floodQuestions },
  { name: "rounds", bound: "maxRounds", where: ({ era }) => era === "modern", make: floodRounds },
  { name: "handshakes", bound: "maxSessions: idle ones go", where: inHttpSessions, make: floodHandshakes },
  { name: "streams", bound: "maxSessions", where: ({ wire }) => wire === "sse", make: floodStreams },
  { name: "batches", bound: "maxBatchItems", where: inHttpSessions, make: floodBatches },
  {
    name: "batches",
    bound: "maxBatchItems",
    where: ({ wire, era }) => wire === "memory" && era === "legacy",
    make: floodChannelBatches,
  },
  { name: "early cancels", bound: `${EARLY_CANCELS}: the oldest go`, where: inHttpSessions, make: floodCancels },
  { name: "bodies", bound: "maxBodiesBytes", where: overNodeHttp, make: floodBodies },
  { name: "large bodies", bound: "maxBodyBytes", where: overHttp, make: floodLargeBodies },
];

/** Floods of limits that make room instead of refusing. */
const MAKING_ROOM = new Set(["handshakes", "early cancels"]);

/** Returns the floods of a lane. Each records into the tally of its name. */
export function floodsOf(spec, tallies) {
  if (spec.mortal) return [];
  return FLOODS.filter(({ where }) => where(spec)).map(({ name, bound, make }) => {
    if (!tallies.has(name)) tallies.set(name, new FloodTally(name, bound, !MAKING_ROOM.has(name)));
    const tally = tallies.get(name);
    return { name, run: (lane) => make(lane, tally) };
  });
}
