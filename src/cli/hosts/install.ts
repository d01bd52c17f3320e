import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../protocol/json.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";
import { unknownName } from "../suggest.js";
import { applyEdits, type Edit, type Editor } from "./edit/edits.js";
import { appendJson, jsonEditor, removeJsonElement } from "./edit/json.js";
import { tomlEditor } from "./edit/toml.js";
import { yamlEditor } from "./edit/yaml.js";
import { type Native, toNative, variablesIn } from "./native.js";
import { HOSTS, type Place, projectPlaces, userPlaces } from "./places.js";
import { loadYaml, parsePlace, readText } from "./read.js";
import type { Entry } from "./shapes.js";

/** Hosts that a server can be installed into. */
export const INSTALL_HOSTS = HOSTS.filter((host) => host !== "mcp");

/** File to change, and how. */
export interface Change {
  readonly place: Place;
  /** Text of the file. Undefined if there is no file. */
  readonly before: string | undefined;
  readonly after: string;
  /** Edits in their order. Each is of the text that the one before it leaves. */
  readonly steps: readonly Step[];
}

export interface Step {
  readonly text: string;
  readonly edits: readonly Edit[];
}

/** Returns the file of a host: that of the project or that of the user. The one that exists is preferred. */
export function placeFor(host: string | undefined, isOfProject: boolean, io: Io): Place {
  if (host === undefined) throw new UsageError(`write --in <host>; the hosts are ${INSTALL_HOSTS.join(", ")}`);
  if (!INSTALL_HOSTS.includes(host)) throw unknownName("host", host, INSTALL_HOSTS);
  const places = (isOfProject ? projectPlaces(io) : userPlaces(io)).filter((place) => place.host === host);
  const project = places.at(-1)?.project;
  const place = places.find(({ file }) => existsSync(file)) ?? places.find((one) => one.project === project);
  if (place === undefined) throw new UsageError(`${host} has no file of a project; leave --project out`);
  return place;
}

/** Plans to add a server. The change has no steps if the file has it already. Nothing is written. */
export async function planInstall(
  name: string,
  entry: Entry,
  place: Place,
): Promise<{ readonly change: Change; readonly native: Native }> {
  const native = toNative(name, entry, place);
  const { path, inputs } = native;
  const file = await open(place);
  const found = memberAt(file.config, path, place);
  if (found !== undefined && !isDeepStrictEqual(found, native.entry))
    throw new UsageError(
      `${place.file} has another server ${JSON.stringify(name)}; choose --name, or remove it first: bowline install --remove ${name} --in ${place.host}`,
    );
  if (found !== undefined) return { native, change: { place, before: file.text, after: file.text ?? "", steps: [] } };
  const known = inputsOf(file.config);
  const added = inputs.filter(({ id }) => !known.some((one) => isObject(one) && one.id === id));
  const edits = [
    (text: string) => file.editor.insert(text, path, native.entry),
    ...added.map((input) => (text: string) => appendJson(text, ["inputs"], input)),
  ];
  const change = changed(place, file.text, edits);
  const intended = withMember(file.config, path, native.entry);
  if (added.length > 0) intended.inputs = [...known, ...added];
  await verify(change, intended);
  return { native, change };
}

/** Plans to remove a server. The text becomes that of the copy if the server is all that was added to it. */
export async function planRemoval(name: string, place: Place): Promise<Change> {
  const file = await open(place);
  const path = [memberOf(place), name] as const;
  const entry = memberAt(file.config, path, place);
  if (entry === undefined) {
    const names = Object.keys((file.config as Record<string, object | undefined>)[path[0]] ?? {});
    throw unknownName("server", name, names, ` in ${place.file}`);
  }
  const inputs = inputsOf(file.config);
  const intended = withMember(file.config, path, undefined);
  const others = variablesIn(intended);
  const own = variablesIn(entry).filter((variable) => !others.includes(variable));
  // Inputs that the server alone has asked for. The others belong to the user.
  const gone = inputs.flatMap((input, index) =>
    isObject(input) && own.includes(`input:${String(input.id)}`) && String(input.id).startsWith(`${name}-`)
      ? [index]
      : [],
  );
  if (gone.length > 0) intended.inputs = inputs.filter((_, index) => !gone.includes(index));
  const edits = [
    ...gone.reverse().map((index) => (text: string) => removeJsonElement(text, ["inputs"], index)),
    (text: string) => file.editor.remove(text, path),
  ];
  const change = changed(place, file.text, edits);
  await verify(change, intended);
  const original = await originOf(
    file.text ?? "",
    path,
    entry as object,
    inputs.filter((_, index) => gone.includes(index)),
    place,
  );
  return original === undefined ? change : { ...change, after: original };
}

/** Returns the text of the copy if adding the server to it makes the text of the file. */
async function originOf(
  text: string,
  path: readonly [string, string],
  entry: object,
  inputs: readonly unknown[],
  place: Place,
): Promise<string | undefined> {
  const copy = await readText(copyOf(place.file));
  if (copy === undefined) return undefined;
  const editor = await editorOf(place);
  try {
    const edits = [
      (before: string) => editor.insert(before, path, entry),
      ...inputs.map((input) => (before: string) => appendJson(before, ["inputs"], input as object)),
    ];
    return changed(place, copy, edits).after === text ? copy : undefined;
  } catch {
    // A copy that cannot be edited is another file.
    return undefined;
  }
}

/** Returns the text that the entry has in a file of its own. */
export async function snippetOf({ path, entry, inputs }: Native, place: Place): Promise<string> {
  if (inputs.length > 0) return `${JSON.stringify({ inputs, [path[0]]: { [path[1]]: entry } }, undefined, 2)}\n`;
  return applyEdits("", (await editorOf(place)).insert("", path, entry));
}

/** Path of the copy that a change keeps of a file. */
export function copyOf(file: string): string {
  return `${file}.bowline.bak`;
}

/** Writes a change: keeps a copy, writes another file and gives it the name. Throws if the file has changed meanwhile. */
export async function writeChange({ place, before, after }: Change): Promise<void> {
  const { file } = place;
  try {
    await mkdir(dirname(file), { recursive: true });
    // The link of a file that lies elsewhere stays.
    const target = before === undefined ? file : await realpath(file);
    const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
    try {
      await writeFile(temporary, after, { flag: "wx", mode: 0o600 });
      if (before !== undefined) {
        await chmod(temporary, (await stat(target)).mode);
        await copyFile(target, copyOf(file));
      }
      if ((await readText(file)) !== before)
        throw new UsageError(`${file} has changed meanwhile, and is left as it is; try again`);
      await rename(temporary, target);
    } finally {
      await rm(temporary, { force: true });
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof UsageError || code === undefined) throw error;
    throw new UsageError(`${file} cannot be written (${code})`);
  }
}

function memberOf(place: Place): string {
  return toNative("", { command: "" }, place).path[0];
}

interface OpenFile {
  readonly text: string | undefined;
  readonly config: Readonly<Record<string, unknown>>;
  readonly editor: Editor;
}

async function open(place: Place): Promise<OpenFile> {
  const text = await readText(place.file);
  const editor = await editorOf(place);
  const config = text === undefined || text.trim() === "" ? {} : ((await parsePlace(text, place)) ?? {});
  if (!isObject(config)) throw new UsageError(`${place.file}: must be an object`);
  return { text, config, editor };
}

async function editorOf({ shape, file }: Place): Promise<Editor> {
  if (shape === "codex") return tomlEditor;
  return shape === "goose" ? yamlEditor(await loadYaml(file)) : jsonEditor;
}

function memberAt(config: OpenFile["config"], [outer, name]: Native["path"], { file }: Place): unknown {
  const members = config[outer] ?? {};
  if (!isObject(members)) throw new UsageError(`${file}: ${outer} must be an object of servers by name`);
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

function inputsOf({ inputs }: OpenFile["config"]): readonly unknown[] {
  return Array.isArray(inputs) ? inputs : [];
}

function changed(place: Place, before: string | undefined, edits: readonly ((text: string) => Edit[])[]): Change {
  const steps: Step[] = [];
  let after = before ?? "";
  for (const edit of edits) {
    const step = { text: after, edits: edit(after) };
    steps.push(step);
    after = applyEdits(after, step.edits);
  }
  return { place, before, after, steps };
}

/** Returns a configuration with a member, or without it. */
function withMember(
  config: OpenFile["config"],
  [outer, name]: Native["path"],
  value: unknown,
): Record<string, unknown> {
  const { [name]: _, ...others } = (config[outer] ?? {}) as Record<string, unknown>;
  return { ...config, [outer]: value === undefined ? others : { ...others, [name]: value } };
}

/** Throws unless the new text means what was intended, and nothing else. */
async function verify({ place, after }: Change, intended: object): Promise<void> {
  const config = await parsePlace(after, place).catch(() => undefined);
  // TOML has no object without members.
  const member = memberOf(place);
  const found = place.shape === "codex" && isObject(config) ? { [member]: {}, ...config } : config;
  if (!isDeepStrictEqual(plainOf(found), plainOf(intended)))
    throw new UsageError(`${place.file} is written in a way that cannot be changed safely; --print prints the entry`);
}

function plainOf(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
