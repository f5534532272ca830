// What the URL of a database must be, and what of it may be shown.

export const POSTGRES_URL_ACCEPTED = "a URL such as postgres://user:password@host:5432/database";

export function isPostgresUrl(text: string): boolean {
  const url = URL.parse(text);
  return /^postgres(ql)?:$/.test(url?.protocol ?? "") && (url?.pathname.length ?? 0) > 1;
}

/** The URL without its password, and without its parameters, which can contain one. */
export function shownUrl(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username}${username === "" ? "" : "@"}${host}${pathname}`;
}
