// Formats an error for the user of a command.

interface DatabaseError extends Error {
  code?: string;
  detail?: string;
  hint?: string;
  errors?: Error[];
  /** graphile-migrate's message, with the lines around the position in the SQL. */
  _gmMessageOverride?: string;
}

/** The error's message, with PostgreSQL's detail and hint. */
export function errorText(error: unknown): string {
  // What failed first, and not what failed then while it was undone.
  if (error instanceof SuppressedError) return errorText(error.suppressed);
  const {
    message,
    code,
    detail,
    hint,
    errors,
    _gmMessageOverride: override,
  } = error as DatabaseError;
  // If a host has several addresses, there is one error per address and no message.
  const text = message === "" ? (errors?.map((one) => one.message).join("; ") ?? code) : message;
  return [
    override ?? text,
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ].join("\n");
}

/** What is missing where a database was never migrated, with the command that makes it; undefined for other errors. */
export function missingSchema(error: unknown): string | undefined {
  const { message, code } = error as DatabaseError;
  if (code === "42P01" || code === "3F000") {
    return `the database lacks the tables (${message}): run \`npm run db:migrate\``;
  }
  if (code === "22023" && message.includes("role")) {
    return `the database lacks the roles (${message}): run \`npm run db:roles\``;
  }
  return undefined;
}
