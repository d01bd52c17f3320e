// The browser of a user who logs in and agrees to everything: node browser.mjs <url>. It needs the built tests.
import { browseTo } from "../../../build/test/support/browse-to.js";

const start = new URL(process.argv[2]);
const back = await browseTo(start, start.searchParams.get("redirect_uri"));
await fetch(back);
