import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError } from "#src/cluster/error.js";
import { UnknownAcquisitions } from "#src/cluster/unknown-acquisitions.js";
import { FakeClock } from "../../support/fake-clock.js";

const TTL_MS = 60_000;

/** Acquisitions on a fake clock. `reply` is the outcome of each release. */
function create(reply: () => boolean) {
  const clock = new FakeClock();
  const released: string[] = [];
  const release = async (name: string, token: string) => {
    released.push(`${name}:${token}`);
    return reply();
  };
  const acquisitions = new UnknownAcquisitions({ clock, release });
  const attempt = (token: string, outcome: boolean | "unknown_outcome" | "unavailable") => {
    let given: string | undefined;
    const result = acquisitions.acquire("l", token, TTL_MS, async (former) => {
      given = former;
      if (typeof outcome === "string") throw new ClusterError(outcome, "lost");
      return outcome;
    });
    return { result, given: () => given };
  };
  const fail = (token: string, failure: "unknown_outcome" | "unavailable" = "unknown_outcome") =>
    rejects(attempt(token, failure).result, /lost/);
  const elapse = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, acquisitions, released, attempt, fail, elapse };
}

test("an attempt after an unknown outcome takes over the lease of the first, once", async () => {
  const { attempt, fail } = create(() => false);
  await fail("1");
  const [second, third] = [attempt("2", true), attempt("3", false)];
  deepEqual([await second.result, second.given()], [true, "1"]);
  deepEqual([await third.result, third.given()], [false, "1"]);
  const fourth = attempt("4", false);
  equal(await fourth.result, false);
  equal(fourth.given(), undefined);
});

test("an attempt that was not carried out leaves nothing to release", async () => {
  const { attempt, clock, fail } = create(() => false);
  await fail("1", "unavailable");
  equal(clock.pending, 0);
  const second = attempt("2", true);
  equal(await second.result, true);
  equal(second.given(), undefined);
});

test("a lease whose acquisition is unknown is released in the background, also if the engine is away at first", async () => {
  let tries = 0;
  const { attempt, clock, elapse, fail, released } = create(() => {
    if (++tries < 4) throw new ClusterError("unavailable", "away");
    return true;
  });
  await fail("1");
  deepEqual(released, []);
  await elapse(5_000);
  deepEqual(released, ["l:1", "l:1", "l:1", "l:1"]);
  equal(clock.pending, 0);
  const next = attempt("2", true);
  await next.result;
  equal(next.given(), undefined);
});

test("a lease that is not there is looked for some times, since its acquisition may come late", async () => {
  const { clock, elapse, fail, released } = create(() => false);
  await fail("1");
  await elapse(10_000);
  equal(released.length, 4);
  equal(clock.pending, 0);
});

test("releases stop with the life of the lease, and when the cluster closes", async () => {
  const away = () => {
    throw new ClusterError("unavailable", "away");
  };
  const [over, closed] = [create(away), create(away)];
  await Promise.all([over.fail("1"), closed.fail("1")]);
  await over.elapse(TTL_MS + 5_000);
  equal(over.clock.pending, 0);
  closed.acquisitions.close();
  await closed.elapse(100);
  deepEqual([closed.clock.pending, closed.released], [0, []]);
});
