import { startPostgres } from "../../support/engines/postgres.js";
import { roundTripTests } from "../../support/round-trips.js";

roundTripTests("postgres", "PostgreSQL", async () => {
  const { url, close } = await startPostgres();
  return { url, end: close };
});
