import { after, before } from "node:test";
import { type NatsServer, startNats } from "../../support/engines/nats.js";
import { stateRounds } from "../../support/engines/state-rounds.js";
import { openOn } from "./world.js";

let server: NatsServer;
before(async () => {
  server = await startNats();
});
after(() => server.end());

stateRounds(
  "NATS",
  openOn(() => server, { heartbeatMs: 500 }),
);
