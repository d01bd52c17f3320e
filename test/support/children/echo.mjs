// Answers every line with the same line; exits by itself at the end of its input.
process.stdin.pipe(process.stdout);
