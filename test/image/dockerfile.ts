// Reads a Dockerfile, and carries its steps out in folders where no engine can: each stage in one that
// stands for the image's root. Knows what this repository's Dockerfile uses, and refuses the rest.
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, normalize } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

interface Instruction {
  name: string;
  text: string;
}

/** What a container of the last stage would start with. */
export interface Image {
  /** The folder that stands for its root. */
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string | undefined;
  command: string[];
  healthcheck: string[];
  /** What the last stage is made from, such as node:24-bookworm-slim. */
  base: string;
}

export function parseDockerfile(text: string): Instruction[] {
  const lines = text.split("\n").filter((line) => line !== "" && !/^\s*#/.test(line));
  return lines
    .join("\n")
    .replace(/\\\n\s*/g, " ")
    .split("\n")
    .map((line) => {
      const [, name = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { name: name.toUpperCase(), text: rest };
    });
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

const execForm = (text: string): string[] => JSON.parse(text.slice(text.indexOf("["))) as string[];

/**
 * Carries out the Dockerfile of `context`, with `node` as the Node of the base image. RUN is run as this
 * user, in its stage's folder. The result belongs to whoever removes it.
 */
export async function carryOut(context: string, node: string): Promise<Image> {
  const instructions = parseDockerfile(await readFile(join(context, "Dockerfile"), "utf8"));
  const isSent = await sentFiles(context);
  const folder = await mkdtemp(join(tmpdir(), "dex-image-"));
  await chmod(folder, 0o755);
  const stages = new Map<string, Image>();
  let image: Image | undefined;
  for (const { name, text } of instructions) {
    if (name === "FROM") {
      const [base = "", , as = `stage-${stages.size}`] = words(text);
      image = await makeStage(join(folder, as), base, node);
      stages.set(as, image);
      continue;
    }
    if (image === undefined) throw new Error(`${name} stands before any FROM`);
    await step(image, { name, text }, { context, isSent, stages });
  }
  if (image === undefined) throw new Error("there is no FROM");
  return image;
}

async function makeStage(root: string, base: string, node: string): Promise<Image> {
  const bin = join(root, "usr/local/bin");
  await mkdir(bin, { recursive: true });
  await cp(node, join(bin, "node"));
  const none = { workdir: "/", env: {}, user: undefined, command: [], healthcheck: [] };
  return { root, base, ...none };
}

interface Surroundings {
  context: string;
  isSent: (path: string) => boolean;
  stages: Map<string, Image>;
}

async function step(
  image: Image,
  { name, text }: Instruction,
  { context, isSent, stages }: Surroundings,
): Promise<void> {
  const workdir = join(image.root, image.workdir);
  switch (name) {
    case "WORKDIR":
      image.workdir = text;
      await mkdir(join(image.root, text), { recursive: true });
      return;
    case "ENV":
      for (const pair of words(text)) {
        const [variable = "", value = ""] = pair.split("=");
        image.env[variable] = value;
      }
      return;
    case "COPY": {
      const [, stage] = /^--from=(\S+)/.exec(text) ?? [];
      const paths = words(text.replace(/^--from=\S+/, ""));
      const to = paths.pop() ?? "";
      for (const path of paths) {
        if (stage === undefined && !isSent(path)) throw new Error(`.dockerignore keeps ${path}`);
        const from = stage === undefined ? context : (stages.get(stage)?.root ?? "");
        const target = to.endsWith("/") ? join(to, basename(path)) : to;
        await cp(join(from, path), join(workdir, target), {
          recursive: true,
          verbatimSymlinks: true,
        });
      }
      return;
    }
    case "RUN":
      await run("sh", ["-c", text], {
        cwd: workdir,
        env: { ...process.env, ...image.env },
        maxBuffer: 100_000_000,
      });
      return;
    case "USER":
      image.user = text;
      return;
    case "HEALTHCHECK":
      image.healthcheck = execForm(text);
      return;
    case "CMD":
      image.command = execForm(text);
      return;
    case "EXPOSE":
      return;
    default:
      throw new Error(`${name} is not known here`);
  }
}

/** Which files of the context are sent to an engine: .dockerignore's last matching line decides. */
async function sentFiles(context: string): Promise<(path: string) => boolean> {
  const text = await readFile(join(context, ".dockerignore"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  for (const line of lines.filter((name) => name.startsWith("!"))) {
    // A name that is there no more would be overlooked for ever.
    await stat(join(context, line.slice(1)));
  }
  return (path) => {
    const [top = ""] = normalize(path).split("/");
    const last = lines.findLast((line) => line === "*" || line === top || line === `!${top}`);
    return last === undefined || last.startsWith("!");
  };
}
