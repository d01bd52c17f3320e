import { after, before } from "node:test";
import { contract, engineContract } from "../../contract/contract.js";
import { anyNats, type NatsServer } from "../../support/engines/nats.js";
import { openOn } from "./world.js";

let server: NatsServer;
before(async () => {
  server = await anyNats();
});
after(() => server.end());

const open = openOn(() => server);

contract("NATS", open);
if (process.env.NATS_URL === undefined) engineContract("NATS", open);
