type Checks = typeof import("../schema/content-shapes.js");

let checks: Checks | undefined;

/** What results of authors are held to, loaded with the first that is more than text: from then on no promise. */
export function contentChecks(): Checks | Promise<Checks> {
  return checks ?? load();
}

async function load(): Promise<Checks> {
  checks = await import("../schema/content-shapes.js");
  return checks;
}
