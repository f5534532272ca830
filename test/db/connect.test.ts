// A pool's connection returns results as `pg` documents, by promise and by callback. A lost connection fails the
// next query, and does not end the process.
import { createServer, type AddressInfo } from "node:net";
import { liftTimeouts, type Pool, type Role } from "../../db/connect.ts";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import { isUnreachable } from "../../db/failure.ts";
import { openClient } from "../database.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();
let pool: Pool;
beforeAll(() => (pool = database.reader));

const ONE = { text: "select $1::integer as one", values: [1] };

it("returns a result by promise", async () => {
  const client = await pool.connect();
  try {
    expect((await client.query(ONE)).rows).toEqual([{ one: 1 }]);
    expect((await client.query("select 2 as two")).rows).toEqual([{ two: 2 }]);
    expect((await client.query(ONE.text, [3])).rows).toEqual([{ one: 3 }]);
  } finally {
    client.release();
  }
});

it("returns a result by callback", async () => {
  const client = await pool.connect();
  try {
    const rows = await new Promise((resolve) => {
      client.query(ONE.text, ONE.values, (_error, result) => resolve(result.rows));
    });
    expect(rows).toEqual([{ one: 1 }]);
  } finally {
    client.release();
  }
});

it("rejects with the server's error and a stack with the query's caller", async () => {
  const client = await pool.connect();
  const ask = async (): Promise<unknown> => await client.query("select 1 / 0");
  try {
    const error = (await ask().catch((thrown: unknown) => thrown)) as Error & { code: string };
    expect(error.code).toBe("22012");
    expect(error.stack).toContain("connect.test.ts");
    expect((await client.query(ONE)).rows).toEqual([{ one: 1 }]);
  } finally {
    client.release();
  }
});

const SHOWN = "select current_setting(name) as value from unnest($1::text[]) as name";

it("gives a writer none of the timeouts that a site has set for short statements", async () => {
  await using superuser = await openClient(database.url);
  // PostgreSQL 15 and 16 lack the last of them.
  const { rows: known } = await superuser.query<{ name: string }>(
    `select name
    from pg_settings
    where name in (
      'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout'
    )
    order by name = 'statement_timeout' desc`,
  );
  const names = known.map(({ name }) => name);
  const { pathname } = new URL(database.url);
  for (const name of names) {
    await superuser.query(`alter database ${pathname.slice(1)} set ${name} = '1h'`);
  }
  const settings = async (role: Role, url = database.url): Promise<unknown> => {
    await using client = await openClient(url, { role });
    return (await client.query(SHOWN, [names])).rows;
  };
  expect(await settings("dex_writer")).toEqual(names.map(() => ({ value: "0" })));
  expect(await settings("dex_reader")).toEqual(names.map(() => ({ value: "1h" })));
  const asked = new URL(database.url);
  asked.searchParams.set("options", "-c statement_timeout=1min");
  expect(await settings("dex_writer", asked.href)).toEqual(
    names.map((_, n) => ({ value: n === 0 ? "1min" : "0" })),
  );
  const all = names.map((name) => `-c ${name}=1min`).join(" ");
  asked.searchParams.set("options", all);
  expect(await settings("dex_writer", asked.href)).toEqual(names.map(() => ({ value: "1min" })));
  // As an export does.
  const lifted = async (url: string): Promise<unknown> => {
    await using client = await openClient(url, { role: "dex_reader" });
    await liftTimeouts(client);
    return (await client.query(SHOWN, [names])).rows;
  };
  expect(await lifted(database.url)).toEqual(names.map(() => ({ value: "0" })));
  expect(await lifted(asked.href)).toEqual(names.map(() => ({ value: "1min" })));
});

it.each<Role>(["dex_reader", "dex_writer"])(
  "reads times and floats as %s, whatever style the database has for them",
  async (role) => {
    await using superuser = await openClient(database.url);
    const name = new URL(database.url).pathname.slice(1);
    const styles = { datestyle: "'SQL, DMY'", extra_float_digits: "-15" };
    for (const [setting, style] of Object.entries(styles)) {
      await superuser.query(`alter database ${name} set ${setting} = ${style}`);
    }
    try {
      await using client = await openClient(database.url, { role });
      const { rows } = await client.query("select timestamptz '2026-02-03Z' as time, 1234::float8");
      expect(rows).toEqual([{ time: new Date("2026-02-03T00:00:00Z"), float8: 1234 }]);
    } finally {
      for (const setting of Object.keys(styles)) {
        await superuser.query(`alter database ${name} reset ${setting}`);
      }
    }
  },
);

/** A message of PostgreSQL's protocol: its type, its length, its fields. */
const message = (type: string, fields: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + fields.length);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(fields)]);
};
const AUTHENTICATED = message("R", "\0\0\0\0");
const READY = message("Z", "I");
const TERMINATED = message("E", "SFATAL\0C57P01\0Mterminating connection\0\0");

it("fails each query with what ended the connection, if the server ends it as soon as it is open", async () => {
  // All in one packet, so that the error comes before anybody can wait for it.
  const server = createServer((socket) => {
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await using client = await openClient(`postgres://one@127.0.0.1:${port}/any`);
    const ended = "Connection terminated: terminating connection";
    for (const _ of [1, 2]) {
      const error: unknown = await client.query("select 1").catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ message: ended, cause: { code: "57P01" } });
      expect(isUnreachable(error)).toBe(true);
    }
    const copy = client.query(copyFrom("copy one from stdin"));
    await expect(pipeline(Readable.from(["1\n"]), copy)).rejects.toThrow(ended);
  } finally {
    server.close();
  }
});
