// Makes an empty database with the schema for each turn, as a copy of one that is migrated once.
import { connect, urlForDatabase } from "../../db/connect.ts";
import { openDatabase, type BenchServer } from "../data/server.ts";

const TEMPLATE = "bench_chain_template";

export class Databases {
  readonly #server: BenchServer;
  #made = 0;

  private constructor(server: BenchServer) {
    this.#server = server;
  }

  static async open(server: BenchServer): Promise<Databases> {
    await openDatabase(server, TEMPLATE);
    return new Databases(server);
  }

  /** Runs `use` on a new database, which is dropped afterwards. Empty: without the schema. */
  async with<T>(use: (url: string) => Promise<T>, { isEmpty = false } = {}): Promise<T> {
    const name = `bench_chain_${(this.#made += 1)}`;
    const template = isEmpty ? "template0" : TEMPLATE;
    await this.#do(`create database ${name} template ${template}`);
    try {
      return await use(urlForDatabase(this.#server.url, name));
    } finally {
      await this.#do(`drop database ${name} with (force)`);
    }
  }

  async #do(sql: string): Promise<void> {
    const admin = await connect(this.#server.url);
    try {
      await admin.query(sql);
    } finally {
      await admin.end();
    }
  }
}
