// An error, for whoever ran a command.

interface Told extends Error {
  code?: string;
  detail?: string;
  hint?: string;
  errors?: Error[];
  /** graphile-migrate's words, with the lines around the place in the SQL. */
  _gmMessageOverride?: string;
}

/** What it says, with PostgreSQL's detail and hint. */
export function errorText(error: unknown): string {
  const { message, code, detail, hint, errors, _gmMessageOverride: placed } = error as Told;
  // Where a host has several addresses, the errors are one for each.
  const said = message === "" ? (errors?.map((one) => one.message).join("; ") ?? code) : message;
  return [
    placed ?? said,
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ].join("\n");
}
