import { EngineLeases } from "../cluster/engine/leases.js";
import { toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { Names } from "./tables.js";

export function postgresLeases(engine: Engine, { of }: Names): EngineLeases {
  const leases = of("leases");
  const until = "clock_timestamp() + $3::float8 * interval '1 millisecond'";
  const acquire = {
    operation: "acquire a lease",
    text: `insert into ${leases} as l (name, token, until) values ($1::text, $2::text, ${until})
      on conflict (name) do update set token = $2::text, until = ${until}
      where l.until <= clock_timestamp() or l.token = $4::text returning name`,
  };
  const renew = {
    operation: "renew a lease",
    text: `update ${leases} set until = ${until}
      where name = $1::text and token = $2::text and until > clock_timestamp() returning name`,
  };
  const release = {
    operation: "release a lease",
    text: `delete from ${leases} where name = $1::text and token = $2::text returning name`,
  };
  return new EngineLeases(engine.clock, {
    acquire: (name, token, ttlMs, doubtful) => engine.changes(acquire, toStored(name), token, ttlMs, doubtful),
    renew: (name, token, ttlMs) => engine.changes(renew, toStored(name), token, ttlMs),
    release: (name, token) => engine.changes(release, toStored(name), token),
  });
}
