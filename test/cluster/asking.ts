// Does something on a connection of its own to one database of a server, as the superuser.
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";

export const DATABASE = "dex";

export type Ask = <T>(act: (client: Client) => Promise<T>, database?: string) => Promise<T>;

export const asking =
  (url: string): Ask =>
  async (act, database = DATABASE) => {
    const client = await connect(urlForDatabase(url, database), { applicationName: "cluster" });
    try {
      return await act(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  };
