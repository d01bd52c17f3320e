import { playTests } from "../../support/play.js";

playTests(["redis", "postgres"]);
