const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
const NAME = /^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u;

/** Returns the problem of a skill's name by the rules of Agent Skills, or undefined. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return "name is missing";
  if (name.length > MAX_NAME) return `name has ${name.length} characters; at most ${MAX_NAME} are allowed`;
  if (NAME.test(name) && name === name.toLowerCase()) return undefined;
  return `name ${JSON.stringify(name)} must consist of lowercase letters, digits and single hyphens between them`;
}

/** Returns the problem of a skill's description by the rules of Agent Skills, or undefined. */
export function descriptionProblem(description: unknown): string | undefined {
  if (typeof description !== "string" || description.trim() === "") return "description is missing";
  // Agent Skills counts characters, of which some have two units in a string.
  const { length } = [...description.slice(0, 2 * MAX_DESCRIPTION + 2)];
  return length <= MAX_DESCRIPTION ? undefined : `description has more than ${MAX_DESCRIPTION} characters`;
}
