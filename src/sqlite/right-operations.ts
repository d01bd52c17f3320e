import { counterOf, type Row, type Session } from "./database.js";

/** Operations on leases, jobs and buckets, in the thread. */
export function rightOperations(session: Session) {
  return { ...leaseOperations(session), ...jobOperations(session), ...bucketOperations(session) };
}

function leaseOperations(session: Session) {
  const { database, of } = session;
  const acquire = database.prepare(`insert into ${of("leases")} as l (name, token, until) values (?1, ?2, ?3)
    on conflict (name) do update set token = ?2, until = ?3 where l.until <= ?4 or l.token = ?5`);
  const renew = database.prepare(`update ${of("leases")} set until = ? where name = ? and token = ? and until > ?`);
  const release = database.prepare(`delete from ${of("leases")} where name = ? and token = ?`);
  return {
    acquire: (name: string, token: string, ttlMs: number, doubtful: string): boolean =>
      acquire.run(name, token, session.now + ttlMs, session.now, doubtful).changes > 0,
    renew: (name: string, token: string, ttlMs: number): boolean =>
      renew.run(session.now + ttlMs, name, token, session.now).changes > 0,
    release: (name: string, token: string): boolean => release.run(name, token).changes > 0,
  };
}

function jobOperations(session: Session) {
  const { database, of } = session;
  const changed = counterOf(session, "jobs");
  const own = "id = ? and token = ? and due > ?";
  const add = database.prepare(`insert into ${of("jobs")} (id, job, due) values (?, ?, ?) on conflict do nothing`);
  const take = database.prepare(`update ${of("jobs")} set token = ?, attempt = attempt + 1, due = ?
    where rowid = (select rowid from ${of("jobs")} where due <= ? order by due, rowid limit 1) returning id, job, attempt`);
  const next = database.prepare(`select min(due) as due from ${of("jobs")}`);
  const extend = database.prepare(`update ${of("jobs")} set due = ? where ${own}`);
  const remove = database.prepare(`delete from ${of("jobs")} where ${own}`);
  const giveBack = database.prepare(`update ${of("jobs")} set token = null, due = ? where ${own}`);
  const free = database.prepare(`update ${of("jobs")} set token = null, due = ? where token = ?`);
  return {
    addJob(id: string, job: string, delayMs: number): boolean {
      const isAdded = add.run(id, job, session.now + delayMs).changes > 0;
      if (isAdded) changed();
      return isAdded;
    },
    /** Takes up to `most` jobs that are due, or returns the time until the next one. */
    takeJobs(token: string, leaseMs: number, most: number): readonly Row[] | number | undefined {
      const { now } = session;
      const due = next.get()?.due;
      if (due == null) return undefined;
      const taken: Row[] = [];
      for (let row = take.get(token, now + leaseMs, now); row !== undefined; ) {
        taken.push(row);
        row = taken.length < most ? take.get(token, now + leaseMs, now) : undefined;
      }
      return taken.length > 0 ? taken : Number(due) - now;
    },
    renewJob: (id: string, token: string, leaseMs: number): boolean =>
      extend.run(session.now + leaseMs, id, token, session.now).changes > 0,
    finishJob: (id: string, token: string): boolean => remove.run(id, token, session.now).changes > 0,
    returnJob(id: string, token: string, delayMs: number): boolean {
      const isReturned = giveBack.run(session.now + delayMs, id, token, session.now).changes > 0;
      if (isReturned) changed();
      return isReturned;
    },
    freeJobs(token: string): boolean {
      const isFreed = free.run(session.now, token).changes > 0;
      if (isFreed) changed();
      return isFreed;
    },
  };
}

function bucketOperations(session: Session) {
  const { database, of } = session;
  const find = database.prepare(`select tokens, at from ${of("buckets")} where key = ?`);
  const store = database.prepare(`insert into ${of("buckets")} (key, tokens, at, full) values (?, ?, ?, ?)
    on conflict (key) do update set tokens = excluded.tokens, at = excluded.at, full = excluded.full`);
  return {
    takeTokens(key: string, burst: number, refillMs: number, want: number) {
      const found = find.get(key);
      const at = Number(found?.at ?? session.now);
      const now = Math.max(session.now, at);
      const tokens = Math.min(burst, Number(found?.tokens ?? burst) + (now - at) / refillMs);
      const given = Math.min(want, Math.floor(tokens));
      store.run(key, tokens - given, now, now + (burst - tokens + given) * refillMs);
      return { given, retryInMs: given > 0 ? 0 : (1 - tokens) * refillMs };
    },
  };
}
