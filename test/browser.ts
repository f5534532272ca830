// Opens pages in Chromium, if it is installed.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser"];

/**
 * The path of Chromium: CHROMIUM, or else the first usual name on the PATH. The shell has the same engine without the windows
 * and pages of a browser, which take most of the processor time of a test.
 */
export const chromiumPath = [
  process.env["CHROMIUM"],
  ...NAMES.flatMap((name) =>
    (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)),
  ),
].find((path) => path !== undefined && path !== "" && isProgram(path));

/** Like `describe`; without Chromium it skips the tests and names the reason. */
export const describeInChromium = (name: string, tests: () => void): void => {
  if (chromiumPath !== undefined) describe(name, tests);
  else {
    const why =
      "skipped, because Chromium is not installed (apt-get install chromium, or set CHROMIUM)";
    describe.skip(`${name}: ${why}`, tests);
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
  /** The URLs that the page requested, in order. */
  asked: string[];
  /** Script errors, policy violations and failed requests. */
  complaints: string[];
}

const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath ?? "",
    args: [
      // Chromium's sandbox does not run as root; the tests open only pages of this service.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      // No requests to Google's hosts.
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** It starts with the first page. */
export class TestBrowser {
  #browser: Promise<Browser> | undefined;

  async open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
    this.#browser ??= launch();
    const page = await (await this.#browser).newPage(options);
    // The test's own timeout bounds it: a slow machine is no failure.
    page.setDefaultTimeout(0);
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
    await (await this.#browser)?.close();
  }
}

/** One browser for the tests of a file or a `describe`, which ends after them. */
export function useBrowser(): TestBrowser {
  const browser = new TestBrowser();
  afterAll(() => browser.close());
  return browser;
}
