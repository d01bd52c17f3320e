// Connects to the port given, says so in a line, and outlives the end of its input and, with "term", SIGTERM.
import { connect } from "node:net";

if (process.argv[3] === "term") process.on("SIGTERM", () => {});
connect(Number(process.argv[2]), "127.0.0.1", () => process.stdout.write("ready\n")).resume();
