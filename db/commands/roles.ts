// npm run db:roles: makes the three roles and their rights on the database.
import { readCommandLine } from "../command-line.ts";
import { ownerUrl } from "../locate.ts";
import { makeRoles } from "../create-roles.ts";
import { shownUrl } from "../postgres-url.ts";

readCommandLine({
  options: {},
  usage: `Usage: npm run db:roles

Makes the roles dex_owner, dex_writer and dex_reader with their rights on the database, and grants
dex_reader to the login of DATABASE_URL. Run again, it changes nothing.

  --help  show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`,
});

try {
  const url = await ownerUrl(process.env);
  const service = serviceLogin(url, process.env["DATABASE_URL"]);
  const isPublicCut = await makeRoles(url, service);
  console.log(`dex_owner, dex_writer and dex_reader have their rights on ${shownUrl(url)}.`);
  if (service !== undefined) console.log(`${service} may become dex_reader.`);
  if (!isPublicCut) {
    console.log(
      "Every login keeps the right to large objects, messages to the write-ahead log and advisory locks, which only " +
        "a superuser can revoke: run this once as one, if there is one. See db/README.md, Roles.",
    );
  }
} catch (error) {
  console.error(`The roles cannot be made: ${(error as Error).message}`);
  process.exitCode = 1;
}

/** The login of the service, where it is another than the one that makes the roles. */
function serviceLogin(ownersUrl: string, servicesUrl: string | undefined): string | undefined {
  if (servicesUrl === undefined || servicesUrl === "") return undefined;
  const login = decodeURIComponent(new URL(servicesUrl).username);
  const owner = decodeURIComponent(new URL(ownersUrl).username);
  return login === "" || login === owner ? undefined : login;
}
