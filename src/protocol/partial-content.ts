/** The `_meta` key under which progress carries content that is ready before the result. */
export const PARTIAL_CONTENT_KEY = "bowline/content";
