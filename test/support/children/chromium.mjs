// A user who logs in by Chromium, on the pages of oidc-provider: node chromium.mjs <url>.
import { openChromium } from "../../../scripts/lib/chromium.mjs";

const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await openChromium(undefined, { args });
try {
  const page = await browser.newPage();
  await page.goto(process.argv[2]);
  await page.fill('input[name="login"]', "user");
  await page.fill('input[name="password"]', "x");
  await page.click('button[type="submit"]');
  await page.waitForSelector('input[name="prompt"][value="consent"]', { state: "attached" });
  await page.click('button[type="submit"]');
  await page.waitForFunction(() => document.title === "Done");
} finally {
  await browser.close();
}
