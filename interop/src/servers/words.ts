/** Texts that all servers of the matrix share. */
export const SERVER_NAME = "interop";
export const NOTE_URI = "note://pinned";
export const NOTE_TEXT = "hold fast";
export const TEMPLATE = "note://numbered/{id}";
export const CITIES = ["oslo", "osaka", "rome"];
export const QUESTION = "Which colour?";
export const FAILURE = "the rope broke";
export const ENDLESS = "the answer of a call that should have been cancelled";

export const numbered = (id: string): string => `note number ${id}`;
export const greeting = (city: string): string => `Greet the people of ${city}`;
export const chosen = (action: string, colour: unknown): string => (action === "accept" ? `colour ${colour}` : action);
export const suggested = (start: string): string[] => CITIES.filter((city) => city.startsWith(start));
