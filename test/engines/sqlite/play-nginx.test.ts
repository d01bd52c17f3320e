import { playTests } from "../../support/play.js";

playTests(["sqlite"]);
