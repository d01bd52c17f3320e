/** Program of `npm run interop`: peers that run or, with `--recorded`, published servers and their recordings. */
if (process.argv.includes("--recorded")) await import("./recorded/run.js");
else await import("./run.js");

export {};
