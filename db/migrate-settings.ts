// graphile-migrate's settings: .gmrc with the connections of a database.
import { fileURLToPath } from "node:url";
import type { Settings } from "graphile-migrate";
import { getSettings } from "graphile-migrate/dist/commands/_common.js";
import { MIGRATIONS_FOLDER } from "./committed.ts";
import { urlForRole } from "./connect.ts";
import { logTo } from "./graphile-migrate-log.ts";
import { shadowUrls } from "./locate.ts";

const GMRC = fileURLToPath(new URL("../.gmrc", import.meta.url));

export async function migrateSettings(
  url: string,
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
): Promise<Settings> {
  const { shadow, root } = shadowUrls(url, env);
  return {
    ...(await getSettings({ configFile: GMRC })),
    migrationsFolder: MIGRATIONS_FOLDER,
    connectionString: urlForRole(url, "dex_owner"),
    shadowConnectionString: urlForRole(shadow, "dex_owner"),
    // Drops and creates the shadow, so it connects to another database.
    rootConnectionString: root,
    logger: logTo(print),
  };
}
