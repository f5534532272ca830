// The one helper that opens pages in Chromium, where the machine has it.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

/** The machine's Chromium: CHROMIUM, else the first of the usual names on the PATH. */
export const chromiumPath = [
  process.env["CHROMIUM"],
  ...(process.env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((folder) => ["chromium", "chromium-browser"].map((name) => join(folder, name))),
].find((path) => path !== undefined && path !== "" && isProgram(path));

/** Describes what is seen in Chromium; where the machine has none, it is skipped and says why. */
export const describeInChromium = (what: string, tests: () => void): void => {
  if (chromiumPath !== undefined) describe(what, tests);
  else {
    const why =
      "not tested, since this machine has none (apt-get install chromium, or give CHROMIUM)";
    describe.skip(`${what}: ${why}`, tests);
  }
};

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Opened {
  page: Page;
  /** What the page has asked for, by URL, in its order. */
  asked: string[];
  /** What the browser has complained of: errors of scripts, refusals by a policy, failed loads. */
  complaints: string[];
}

export class TestBrowser {
  readonly #browser: Promise<Browser> = chromium.launch({
    executablePath: chromiumPath ?? "",
    args: [
      // Root cannot have its sandbox. It visits this service alone.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      // It asks its maker's hosts nothing.
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

  async open(url: string): Promise<Opened> {
    const page = await (await this.#browser).newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        complaints.push(message.text());
      }
    });
    await page.goto(url);
    return { page, asked, complaints };
  }

  async close(): Promise<void> {
    await (await this.#browser).close();
  }
}
