// The policy that pages for people are sent with, and what a browser makes of it.
import { describeInChromium, useBrowser } from "../browser.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase();

const PAGES = ["/graphiql", "/docs"];

it.each(PAGES)(
  "%s may run what it brings, by file or by hash, and load nothing from elsewhere",
  async (path) => {
    const { headers } = await app.request.get(path).set("accept", "text/html");
    const policy = new Map(
      headers["content-security-policy"]!.split("; ").map((directive) => {
        const [name = "", ...sources] = directive.split(" ");
        return [name, sources];
      }),
    );

    expect(policy.get("default-src")).toEqual(["'none'"]);
    expect(policy.get("frame-ancestors")).toEqual(["'none'"]);
    expect(policy.get("connect-src")).toEqual(["'self'"]);
    for (const source of policy.get("script-src")!) {
      expect(source).toMatch(/^'(self|sha256-[A-Za-z0-9+/]{43}=)'$/);
    }
    for (const source of [...policy.values()].flat()) {
      expect(source).toMatch(/^('.*'|data:)$/);
    }
  },
);

describeInChromium("in Chromium", () => {
  const browser = useBrowser();

  it.each(PAGES)("%s does not run a script that somebody has got into it", async (path) => {
    const { page, complaints } = await browser.open(app.url + path);

    await page.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "document.title = 'taken over'";
      document.head.append(script);
    }`);

    expect(await page.title()).not.toBe("taken over");
    expect(complaints.join()).toMatch(/Content Security Policy/);
  });
});
