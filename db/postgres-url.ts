// What the URL of a database must be.

export const POSTGRES_URL_ACCEPTED = "a URL such as postgres://user:password@host:5432/database";

export function isPostgresUrl(text: string): boolean {
  const url = URL.parse(text);
  return /^postgres(ql)?:$/.test(url?.protocol ?? "") && (url?.pathname.length ?? 0) > 1;
}
