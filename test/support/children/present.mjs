// Connects to the port given, says so in a line, and outlives the end of its input.
import { connect } from "node:net";

connect(Number(process.argv[2]), "127.0.0.1", () => process.stdout.write("ready\n")).resume();
