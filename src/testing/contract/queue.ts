import type { Cluster, Job } from "../../cluster/cluster.js";
import { deepEqual, equal } from "./assert.js";
import { reasonOf } from "./leases.js";
import { type Case, collect, failsWith, failureOf, LIFE_MS, PAST_LIFE_MS, type Stage, until } from "./world.js";

/** Takes jobs of a node until the test ends. Each job waits for the test. */
export function worker({ scope }: Stage, { queue }: Cluster, leaseMs = LIFE_MS) {
  const controller = new AbortController();
  scope.after(() => controller.abort());
  const { items, end, reaches } = collect<Job>(queue.take(controller.signal, { leaseMs }));
  return { jobs: items, end, reaches, stop: () => controller.abort() };
}

const told = ({ id, job, attempt }: Job) => ({ id, job, attempt });

export function queueContract(add: Case): void {
  jobs(add);
  delays(add);
  losses(add);
}

function jobs(add: Case): void {
  add("each job goes to one worker, once", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    const workers = [worker(stage, a), worker(stage, b), worker(stage, b)];
    const ids = Array.from({ length: 30 }, (_, at) => `job ${at}`);
    for (const id of ids) equal(await a.queue.add(id, `do ${id}`), true);
    const taken = () => workers.flatMap(({ jobs }) => jobs);
    await until(() => taken().length >= ids.length, "all jobs are taken");
    for (const job of taken()) await job.done();
    deepEqual(
      taken()
        .map(told)
        .sort((x, y) => ids.indexOf(x.id) - ids.indexOf(y.id)),
      ids.map((id) => ({ id, job: `do ${id}`, attempt: 1 })),
    );
  });

  add("jobs come in the order in which they were added", async (stage) => {
    const a = await stage.node();
    for (const id of ["c", "a", "b"]) {
      await a.queue.add(id, "");
      await stage.elapse(20);
    }
    const { jobs, reaches } = worker(stage, a);
    await reaches(3);
    deepEqual(
      jobs.map(({ id }) => id),
      ["c", "a", "b"],
    );
  });

  add(
    "a worker with room for many jobs gets them in order, and returns those that it did not get to",
    async (stage) => {
      const [a, b] = [await stage.node(), await stage.node()];
      const ids = Array.from({ length: 20 }, (_, at) => `job ${at}`);
      for (const id of ids) {
        await a.queue.add(id, `do ${id}`);
        await stage.elapse(5);
      }
      const got: string[] = [];
      for await (const job of a.queue.take(new AbortController().signal, { leaseMs: LIFE_MS, most: () => 16 })) {
        got.push(job.id);
        await job.done();
        // The rest of those that were taken at once is left.
        if (got.length === 9) break;
      }
      deepEqual(got, ids.slice(0, 9));
      const { jobs, reaches } = worker(stage, b, 100 * LIFE_MS);
      await reaches(11);
      deepEqual(
        jobs.map(({ id, job }) => [id, job]).sort(),
        ids
          .slice(9)
          .map((id) => [id, `do ${id}`])
          .sort(),
      );
    },
  );

  add("a job id is taken until the job is done", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    equal(await a.queue.add("j", "1"), true);
    equal(await b.queue.add("j", "2"), false);
    const { jobs, reaches } = worker(stage, b);
    await reaches(1);
    equal(await a.queue.add("j", "3"), false);
    await jobs[0]?.done();
    await jobs[0]?.done();
    equal(await a.queue.add("j", "4"), true);
    await failureOf(() => jobs[0]?.done());
    equal(await a.queue.add("j", "5"), false);
    await reaches(2);
    deepEqual(jobs.map(told), [
      { id: "j", job: "1", attempt: 1 },
      { id: "j", job: "4", attempt: 1 },
    ]);
  });

  add("one of many nodes that add a job adds it", async (stage) => {
    const nodes = [await stage.node(), await stage.node(), await stage.node()];
    const added = await Promise.all(nodes.map(async ({ queue, node }) => queue.add("j", node)));
    equal(added.filter(Boolean).length, 1);
  });

  add("a worker takes no more jobs after its signal fired, and keeps the one that it has", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    const first = worker(stage, a);
    await a.queue.add("1", "");
    await first.reaches(1);
    first.stop();
    await first.end;
    await b.queue.add("2", "");
    await stage.elapse(PAST_LIFE_MS);
    const second = worker(stage, b);
    await second.reaches(1);
    equal(second.jobs[0]?.id, "2");
    equal(first.jobs[0]?.lost.aborted, false);
    await first.jobs[0]?.done();
    equal(await b.queue.add("1", ""), true);
  });
}

function delays(add: Case): void {
  add("a delayed job comes after its delay", async (stage) => {
    const a = await stage.node();
    const { jobs, reaches } = worker(stage, a);
    await a.queue.add("late", "", { delayMs: LIFE_MS });
    await a.queue.add("now", "");
    await reaches(1);
    await stage.elapse(LIFE_MS / 4);
    deepEqual(
      jobs.map(({ id }) => id),
      ["now"],
    );
    await stage.elapse(PAST_LIFE_MS);
    await reaches(2);
    equal(jobs[1]?.id, "late");
  });

  add("later returns a job to the queue, with a delay and the next attempt", async (stage) => {
    const a = await stage.node();
    const { jobs, reaches } = worker(stage, a);
    await a.queue.add("j", "text");
    await reaches(1);
    await jobs[0]?.later(LIFE_MS);
    equal(await a.queue.add("j", "other"), false);
    await stage.elapse(LIFE_MS / 4);
    equal(jobs.length, 1);
    await stage.elapse(PAST_LIFE_MS);
    await reaches(2);
    await jobs[1]?.later(0);
    await reaches(3);
    await failsWith("fenced", () => jobs[0]?.done());
    await failsWith("fenced", () => jobs[1]?.later(0));
    equal(await a.queue.add("j", "other"), false);
    deepEqual(jobs.map(told), [
      { id: "j", job: "text", attempt: 1 },
      { id: "j", job: "text", attempt: 2 },
      { id: "j", job: "text", attempt: 3 },
    ]);
    equal(jobs[0]?.lost.aborted, false);
  });
}

function losses(add: Case): void {
  add("a job renews its lease while its worker lives", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    const first = worker(stage, a);
    await a.queue.add("j", "");
    await first.reaches(1);
    const second = worker(stage, b);
    for (let times = 0; times < 3; times++) await stage.elapse(PAST_LIFE_MS / 1.5);
    deepEqual([first.jobs.length, second.jobs.length], [1, 0]);
    equal(first.jobs[0]?.lost.aborted, false);
  });

  add("the job of a lost worker goes to another one, and is lost before", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    const first = worker(stage, a);
    await a.queue.add("j", "text");
    await first.reaches(1);
    const second = worker(stage, b);
    await stage.crash(a);
    await until(async () => {
      if (second.jobs.length === 0) await stage.elapse(LIFE_MS / 10);
      return second.jobs.length > 0;
    }, "the job comes to the other worker");
    equal(first.jobs[0]?.lost.aborted, true);
    equal(reasonOf(first.jobs[0]), "fenced");
    deepEqual(second.jobs.map(told), [{ id: "j", job: "text", attempt: 2 }]);
    await failsWith(["fenced", "unavailable"], () => first.jobs[0]?.done());
    equal(await b.queue.add("j", "other"), false);
    await second.jobs[0]?.done();
    equal(await b.queue.add("j", "other"), true);
  });

  add("the jobs of a node that closes go to others at once", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    const first = worker(stage, a, 1_000 * LIFE_MS);
    await a.queue.add("j", "");
    await first.reaches(1);
    await stage.close(a);
    equal(first.jobs[0]?.lost.aborted, true);
    equal(reasonOf(first.jobs[0]), "unavailable");
    await first.end;
    const second = worker(stage, b);
    await second.reaches(1);
    equal(second.jobs[0]?.attempt, 2);
  });
}
