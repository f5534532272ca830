// The image by an engine: a base made by debootstrap, the Dockerfile by buildah, and containers by podman.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** Any Debian with the account `node`, Node and npm stands for the base image, which no registry gives here. */
const SUITE = "bookworm";
const BASE = "localhost/base";
const IMAGE = "localhost/dex-market-data";

/** What an image of Debian leaves out too. */
const UNREAD = [
  ...["var/cache/apt/archives", "var/lib/apt/lists", "var/log"],
  ...["usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale"],
];

/** As compose.yaml asks for. podman's own limits are higher than what some machines let even root set. */
const CONFINED = [
  ...[
    "--rm",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--network=host",
  ],
  ...["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"],
];

export interface Image {
  /** A folder that shows its files. */
  root: string;
  workdir: string;
  env: string[];
  user: string;
  command: string[];
  bytes: number;
}

interface Inspected {
  Size: number;
  Config: { User: string; Env: string[]; Cmd: string[]; WorkingDir: string };
}

const output = async (program: string, args: string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 100_000_000 });
  return stdout.trim();
};

export class Engine {
  readonly #folder: string;
  readonly #storage: string[];
  #runs: string[] = [];
  #containers = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    const [root, run] = [join(folder, "store"), join(folder, "run")];
    this.#storage = [`--root=${root}`, `--runroot=${run}`, "--storage-driver=overlay"];
  }

  static async open(): Promise<Engine> {
    const engine = new Engine(await mkdtemp(join(tmpdir(), "dex-image-")));
    // crun knows no machine with both versions of cgroups.
    engine.#runs = [...engine.#storage, "--runtime=runc", "--cgroup-manager=cgroupfs"];
    return engine;
  }

  async build(context: string, node: string): Promise<Image> {
    await this.#makeBase(node);
    const [cache = "", config = "", authorities = ""] = await Promise.all(
      ["cache", "userconfig", "cafile"].map((name) => output("npm", ["config", "get", name])),
    );
    // What this machine says of the registry, and whom it trusts: npm in the image knows neither.
    const npmrc = join(this.#folder, "npmrc");
    const given = existsSync(config) ? await readFile(config, "utf8") : "";
    const trusted = existsSync(authorities) ? "\ncafile=/root/authorities.pem" : "";
    await writeFile(npmrc, `${given}${trusted}\nprefer-offline=true\n`);
    await output("buildah", [
      ...["build", ...this.#storage, "--quiet", "--format=docker", "--isolation=chroot"],
      ...["--network=host", `--build-arg=BASE=${BASE}`, `--tag=${IMAGE}`],
      ...[`--volume=${cache}:/root/.npm`, `--volume=${npmrc}:/root/.npmrc:ro`],
      ...(trusted === "" ? [] : [`--volume=${authorities}:/root/authorities.pem:ro`]),
      context,
    ]);
    const podman = (...args: string[]): Promise<string> =>
      output("podman", [...this.#storage, ...args]);
    const [{ Size, Config }] = JSON.parse(await podman("image", "inspect", IMAGE)) as [Inspected];
    return {
      root: await podman("image", "mount", IMAGE),
      workdir: Config.WorkingDir,
      env: Config.Env,
      user: Config.User,
      command: Config.Cmd,
      bytes: Size,
    };
  }

  /** Why podman cannot run the image on this machine; undefined where it can. */
  async obstacle(): Promise<string | undefined> {
    return await output("podman", [...this.#runs, "run", ...CONFINED, IMAGE, "node", "-v"]).then(
      () => undefined,
      (error: unknown) => (error as { stderr?: string }).stderr ?? String(error),
    );
  }

  /** Runs a command in a container, by default that of the image; its name is for `healthy`. */
  run(env: Record<string, string>, command: string[] = []): { name: string; child: ChildProcess } {
    const name = `dex-image-${process.pid}-${(this.#containers += 1)}`;
    const given = Object.entries(env).map(([key, value]) => `--env=${key}=${value}`);
    const args = [...this.#runs, "run", ...CONFINED, `--name=${name}`, ...given, IMAGE, ...command];
    return { name, child: spawn("podman", args, { stdio: ["ignore", "pipe", "pipe"] }) };
  }

  /** Runs the check of the image's health, as podman does every 10 seconds where systemd is. */
  async healthy(name: string): Promise<boolean> {
    return await output("podman", [...this.#runs, "healthcheck", "run", name]).then(
      () => true,
      () => false,
    );
  }

  /** Ends a container by SIGTERM, which `podman run` hands on. */
  async stop(name: string): Promise<void> {
    await output("podman", [...this.#runs, "kill", "--signal=TERM", name]);
  }

  async close(): Promise<void> {
    const podman = (...args: string[]): Promise<unknown> =>
      output("podman", [...this.#runs, ...args]).catch(() => undefined);
    await podman("rm", "--force", "--all", "--time=0");
    await podman("image", "unmount", "--all", "--force");
    await output("umount", [join(this.#folder, "store", "overlay")]).catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #makeBase(node: string): Promise<void> {
    const system = join(this.#folder, "base");
    await output("debootstrap", ["--variant=minbase", SUITE, system]);
    for (const folder of UNREAD) {
      for (const entry of await readdir(join(system, folder)).catch(() => [])) {
        await rm(join(system, folder, entry), { recursive: true });
      }
    }
    const local = join(system, "usr/local");
    await cp(node, join(local, "bin/node"));
    const npm = dirname(dirname(await realpath(await output("sh", ["-c", "command -v npm"]))));
    await mkdir(join(local, "lib/node_modules"), { recursive: true });
    await cp(npm, join(local, "lib/node_modules/npm"), { recursive: true, verbatimSymlinks: true });
    await symlink("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin/npm"));
    await output("chroot", [system, "useradd", "--create-home", "node"]);
    const container = await output("buildah", ["from", ...this.#storage, "scratch"]);
    await output("buildah", ["add", ...this.#storage, "--quiet", container, system, "/"]);
    await output("buildah", ["commit", ...this.#storage, "--quiet", "--rm", container, BASE]);
    await rm(system, { recursive: true });
  }
}
