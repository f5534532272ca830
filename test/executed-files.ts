// Which files of the service execute something while an act runs, after V8's count of calls.
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../", import.meta.url);
const OF_THE_SERVICE = /^(?:db|market|http|rest|graphql|page|chain|server)\//;

/** Their paths in the repository, sorted. */
export async function executedFiles(act: () => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    // The count begins anew with each look.
    await session.post("Profiler.takePreciseCoverage");
    await act();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const executed = result
      .filter(({ functions }) =>
        functions.some((one) => isOfTheFile(one.functionName) && one.ranges[0]!.count > 0),
      )
      .map(({ url }) => inRepository(url))
      .filter((path) => OF_THE_SERVICE.test(path));
    return [...new Set(executed)].sort();
  } finally {
    await session.post("Profiler.stopPreciseCoverage");
    session.disconnect();
  }
}

function inRepository(url: string): string {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  const root = fileURLToPath(ROOT);
  return path.startsWith(root) ? path.slice(root.length) : "";
}

/** Jest makes a getter of each import, named for it. */
const isOfTheFile = (functionName: string): boolean => !functionName.startsWith("get ");
