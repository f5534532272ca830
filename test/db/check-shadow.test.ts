// Temporary databases of db:lint and db:check: a run that is killed leaves one, which the next run drops.
import { makeShadow } from "../../db/check/check-shadow.ts";
import { clusterUrl, openClient } from "../database.ts";

const root = clusterUrl();

it("drops what a killed run has left, and nothing of a run that goes on", async () => {
  await using admin = await openClient(root);
  const databases = async (): Promise<string[]> => {
    const { rows } = await admin.query<{ name: string }>(
      "select datname as name from pg_database where datname like 'dex_check%' order by oid",
    );
    return rows.map(({ name }) => name);
  };
  const killed = await makeShadow({ shadow: root, root });
  const [left = ""] = await databases();
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
    [left],
  );
  const running = await makeShadow({ shadow: root, root });
  const another = await makeShadow({ shadow: root, root });
  try {
    const urls = [running, another].map(({ url }) => new URL(url).pathname.slice(1));
    expect(await databases()).toEqual(urls);
  } finally {
    await Promise.all([killed, running, another].map((shadow) => shadow.drop()));
  }
  expect(await databases()).toEqual([]);
});
