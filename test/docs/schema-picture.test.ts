// docs/schema.md shows the schema as the committed migrations make it: `npm run generate -- picture` draws it.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { formatted } from "../formatted.ts";
import { drawSchema } from "./schema-picture.ts";
import { useDatabase } from "../served.ts";

const TRACKED = fileURLToPath(new URL("../../docs/schema.md", import.meta.url));

const database = useDatabase();

it("is the page that is tracked", async () => {
  const page = await formatted(await drawSchema(database.owner), "markdown");
  if (process.env["WRITE_PICTURE"] !== undefined) await writeFile(TRACKED, page);
  expect(page).toBe(await readFile(TRACKED, "utf8"));
});

it("shows an added table with its relation, the view over it, and the function that writes it", async () => {
  await database.owner.query(
    `create table token_note (
      id integer primary key,
      token text not null references dex_token (address),
      symbol_of text unique
    );
    comment on table token_note is
      E'@foreignKey (symbol_of) references dex_market (pair)|@fieldName market\\nA note.';
    create view noted as select note.token from token_note as note;
    create function dex_private.note_down() returns void language sql as
      'insert into public.token_note values (1, null, null)';
    create function ingest.note() returns void security definer language sql as
      'select dex_private.note_down()';
    comment on function ingest.note() is 'Notes.';`,
  );
  const page = await drawSchema(database.owner);
  // Enforced and not null: exactly one token, of which there are any number of notes.
  expect(page).toContain('  dex_token ||--o{ token_note : ""\n');
  // Declared only, by a unique column: perhaps a market, and one note of it at most.
  expect(page).toContain('  dex_market |o..o| token_note : "market"\n');
  expect(page).toContain(
    '  token_note {\n    integer id PK\n    text token FK\n    text symbol_of FK, UK "may be null"\n  }\n',
  );
  expect(page).toContain("  token_note[(token_note)]\n");
  expect(page).toContain("  token_note --> noted\n");
  expect(page).toContain("| `note` | Notes. | `token_note` |\n");
});
