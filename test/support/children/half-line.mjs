// Writes a whole line and half of another, and exits.
process.stdout.write('{"whole":1}\n{"half":');
