// Tells its arguments, environment and working directory in one line.
process.stdout.write(`${JSON.stringify({ args: process.argv.slice(2), env: process.env, cwd: process.cwd() })}\n`);
process.stdin.resume();
