/** A user who logs in and agrees to everything, by the pages of a provider, up to an address that is not the provider's. */
export async function browseTo(start: URL, end: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = start;
  let form: URLSearchParams | undefined;
  for (let hops = 0; hops < 20; hops++) {
    if (at.href.startsWith(end)) return at;
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const asked = form === undefined ? { method: "GET" } : { method: "POST", body: form };
    const response: Response = await fetch(at, { ...asked, redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const page = await response.text();
    const location = response.headers.get("location");
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (location === null && (action === undefined || prompt === undefined)) {
      throw new Error(`the browser is stuck at ${at.pathname}: ${response.status} ${/<pre>.*<.pre>/s.exec(page)?.[0]}`);
    }
    form = location === null ? new URLSearchParams({ prompt: prompt ?? "", login: "user", password: "x" }) : undefined;
    at = new URL(location ?? action ?? "", at);
  }
  throw new Error("the browser goes round in circles");
}
