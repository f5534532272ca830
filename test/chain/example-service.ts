// An example of examples/chain/ as a process, and the service that indexes it by the settings that it prints.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { spawn } from "node:child_process";
import { DataDirs, PATIENT, startService } from "../service.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

export interface ExampleService {
  /** The settings as they are printed, by their names. */
  settings: Readonly<Record<string, string>>;
  /** What the service has logged. */
  logged(): string;
  get(path: string): Promise<Response>;
  /** Resolves to the first answer that holds this text. */
  until(path: string, text: string): Promise<string>;
  /** Gives the example a line. */
  enter(): void;
  stop(): Promise<void>;
}

export async function startExample(...args: string[]): Promise<ExampleService> {
  const dataDirs = new DataDirs();
  const main = pathOf("examples/chain/main.ts");
  const example = spawn(process.execPath, [main, ...args, "--port", "0"]);
  const ended = new Promise((resolve) => example.once("close", resolve));
  const command = await new Promise<string>((resolve, reject) => {
    let output = "";
    for (const stream of [example.stdout, example.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const found = /^RPC_URL=.* npm start$/m.exec(output)?.[0];
        if (found !== undefined) resolve(found);
      });
    }
    void ended.then(() => reject(new Error(output)));
  });
  const settings = Object.fromEntries(
    command.matchAll(/(\w+)=(\S+)/g).map(([, name = "", value = ""]) => [name, value]),
  );
  const { TOKEN_LIST } = settings;
  const service = startService({
    ...settings,
    ...PATIENT,
    // The command is run in the folder of the project.
    ...(TOKEN_LIST !== undefined && { TOKEN_LIST: pathOf(TOKEN_LIST) }),
    DATA_DIR: await dataDirs.make(),
  });
  const get = async (path: string): Promise<Response> => fetch(`${await service.url}${path}`);
  return {
    settings,
    get,
    logged: () => service.output(),
    async until(path, text) {
      for (;;) {
        const answer = await (await get(path)).text();
        if (answer.includes(text)) return answer;
        await sleep(50);
      }
    },
    enter: () => void example.stdin.write("\n"),
    async stop() {
      service.signal("SIGTERM");
      await service.ended;
      example.kill();
      await ended;
      await dataDirs.remove();
    },
  };
}
