// One service of the cluster, at a port that it keeps, of the release that it was started with last.
import { runFile, type Service } from "../service.ts";
import { freePort } from "../free-port.ts";

export class ServiceNode {
  readonly port: number;
  readonly #databaseUrl: string;
  #service: Service | undefined;

  private constructor(port: number, databaseUrl: string) {
    this.port = port;
    this.#databaseUrl = databaseUrl;
  }

  /** On a free port; it is started later. */
  static async of(databaseUrl: string): Promise<ServiceNode> {
    return new ServiceNode(await freePort(), databaseUrl);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Why it is not ready; empty where it is. */
  async reasons(): Promise<string[]> {
    const answer = await fetch(`${this.url}/ready`);
    const { reasons = [] } = (await answer.json()) as { reasons?: string[] };
    return reasons;
  }

  /** Starts the release in this folder. */
  async start(repository?: string): Promise<void> {
    this.#service = runFile(
      "server/main.ts",
      {
        DATABASE_URL: this.#databaseUrl,
        PORT: String(this.port),
        RATE_LIMIT: "0",
        MAX_REQUESTS_PER_CLIENT: "0",
        MAX_CONCURRENT: "0",
        POOL_SIZE: "5",
        GRAPHQL_POOL_SIZE: "3",
        // Shorter than the time that HAProxy waits for an answer.
        POOL_WAIT_MS: "1000",
        POOL_HOLD_MS: "2500",
        // Another service answers sooner than one that waits for long.
        MIN_BLOCK_WAIT_MS: "500",
        MAX_REPLICA_LAG: "2",
      },
      [],
      repository,
    );
    await this.#service.url;
  }

  /** Stops it by SIGTERM, or ends it at once by SIGKILL. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    this.#service?.signal(signal);
    await this.#service?.ended;
  }
}
