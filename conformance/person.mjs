/** Acts as a person with a browser without scripts: opens the address, presses Allow, and follows the redirect. */
export async function approve(address) {
  const page = await fetch(address, { redirect: "manual" });
  const text = await page.text();
  const action = text.match(/<form method="post" action="([^"]+)"/)?.[1];
  const ask = text.match(/name="ask" value="([^"]+)"/)?.[1];
  if (action === undefined || ask === undefined) throw new Error(`no consent page, but status ${page.status}`);
  const cookie = page.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
  const answer = await fetch(new URL(action, address), {
    method: "POST",
    body: new URLSearchParams({ ask, decision: "approve" }),
    headers: { cookie: cookie.join("; "), origin: new URL(address).origin },
    redirect: "manual",
  });
  const location = answer.headers.get("location");
  if (location === null) throw new Error(`the consent was answered with status ${answer.status}`);
  await (await fetch(location)).text();
}
