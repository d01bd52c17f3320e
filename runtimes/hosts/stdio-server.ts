import { serveStdio } from "bowline/node";
import { createHarbour } from "../harbour.js";

await serveStdio(createHarbour());
