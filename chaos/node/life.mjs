import { Random } from "../../scripts/oracle/corpus/random.mjs";
import { recordStalls } from "../stalls.mjs";
import { Cuts } from "./cuts.mjs";
import { observeEvents } from "./events.mjs";

/** Time between two numbered messages to all sessions. */
const TELL_MS = 500;
/** Time in which a node joins the others. */
const JOIN_MS = 1_000;

/**
 * Cuts connections of a node, sends numbered messages to all sessions, names the node in each response, and records the
 * events that it sends. Returns a function after which it cuts and sends nothing.
 */
export function live({ http, server, name, truth, seed }) {
  const cuts = new Cuts(new Random(seed), truth);
  http.prependListener("request", (request, response) => {
    response.setHeader("x-chaos-node", name);
    cuts.consider(request, response);
    observeEvents(request, response, truth);
  });
  recordStalls(truth);
  let telling;
  let number = 0;
  const tell = () => {
    truth.write("tell", ++number);
    server.log("info", { from: name, number });
    telling = setTimeout(tell, TELL_MS);
  };
  // A server joins the others with its first request.
  const begin = () => {
    telling = setTimeout(tell, JOIN_MS);
  };
  http.once("request", begin);
  truth.write("start");
  return () => {
    cuts.end();
    http.off("request", begin);
    clearTimeout(telling);
  };
}
