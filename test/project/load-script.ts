/** Loads a script of the project; scripts are plain JavaScript, so the test states the shape it relies on. */
export async function loadScript<Shape>(path: string): Promise<Shape> {
  const module: Shape = await import(new URL(`../../../${path}`, import.meta.url).href);
  return module;
}
