/**
 * Loaded into a gateway that listens on all addresses and knows no free port: it listens on 127.0.0.1 alone, and its
 * address is the first line of its standard output.
 */
import { type AddressInfo, Server } from "node:net";

const { listen } = Server.prototype;

Server.prototype.listen = function listenAtHome(this: Server, ...args: unknown[]): Server {
  this.once("listening", () => {
    process.stdout.write(`http://127.0.0.1:${(this.address() as AddressInfo).port}\n`);
  });
  return Reflect.apply(listen, this, [args[0], "127.0.0.1", ...args.slice(1)]);
};
