import { EngineQueue } from "../cluster/engine/queue.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { Outbox } from "./outbox.js";
import type { Names } from "./tables.js";

/** Jobs by a table. SKIP LOCKED serves to stamp `leased_until` only; no transaction is open while a job runs. */
export function postgresQueue(engine: Engine, { of }: Names, outbox: Outbox, closed: AbortSignal): EngineQueue {
  const statements = statementsOf(of("jobs"));
  const operations = {
    add: (id: string, job: string, delayMs: number) =>
      engine.changes(statements.add, toStored(id), toStored(job), delayMs),
    async take(token: string, leaseMs: number, most: number) {
      const rows = await engine.run(statements.take, token, leaseMs, most);
      const ordered = [...rows].sort((one, other) => Number(one.place) - Number(other.place));
      if (ordered.length > 0)
        return ordered.map(({ id, job, attempt }) => ({
          id: fromStored(id),
          job: fromStored(job),
          attempt: Number(attempt),
        }));
      const [next] = await engine.run(statements.next);
      return next?.ms == null ? undefined : Number(next.ms);
    },
    renew: (id: string, token: string, leaseMs: number) =>
      engine.changes(statements.renew, toStored(id), token, leaseMs),
    done: (id: string, token: string) => engine.changes(statements.done, toStored(id), token),
    later: (id: string, token: string, delayMs: number) =>
      engine.changes(statements.later, toStored(id), token, delayMs),
    free: (token: string) => engine.changes(statements.free, token),
    changed: () => outbox.nudgeQueue(),
  };
  return new EngineQueue(engine.clock, operations, closed);
}

function statementsOf(jobs: string) {
  const after = (value: string) => `clock_timestamp() + ${value}::float8 * interval '1 millisecond'`;
  const own = "id = $1::text and token = $2::text and leased_until > clock_timestamp()";
  return {
    add: {
      operation: "add a job",
      text: `insert into ${jobs} (id, job, leased_until) values ($1::text, $2::text, ${after("$3")})
        on conflict (id) do nothing returning id`,
    },
    take: {
      operation: "take jobs",
      text: `with ready as materialized (
          select id, extract(epoch from leased_until) as place from ${jobs} where leased_until <= clock_timestamp()
          order by leased_until, id limit $3::int for update skip locked
        )
        update ${jobs} j set token = $1::text, attempt = attempt + 1, leased_until = ${after("$2")}
        from ready where j.id = ready.id
        returning j.id, j.job, j.attempt::text, ready.place::text`,
    },
    next: {
      operation: "look for jobs",
      isRead: true,
      text: `select (extract(epoch from min(leased_until) - clock_timestamp()) * 1000)::text as ms from ${jobs}`,
    },
    renew: {
      operation: "renew a job",
      text: `update ${jobs} set leased_until = ${after("$3")} where ${own} returning id`,
    },
    done: { operation: "finish a job", text: `delete from ${jobs} where ${own} returning id` },
    later: {
      operation: "return a job",
      text: `update ${jobs} set token = null, leased_until = ${after("$3")} where ${own} returning id`,
    },
    free: {
      operation: "return jobs",
      text: `update ${jobs} set token = null, leased_until = clock_timestamp() where token = $1::text returning id`,
    },
  };
}
