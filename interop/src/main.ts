/**
 * Program of `npm run interop`: peers that run or, with `--recorded`, published servers and their recordings, and with
 * `--doctor` what the doctor finds in these servers.
 */
const has = (flag: string) => process.argv.includes(flag);
if (has("--doctor")) await import("./doctor/run.js");
else if (has("--recorded")) await import("./recorded/run.js");
else await import("./run.js");

export {};
