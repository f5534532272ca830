// Removes secrets from a database URL.

/** The URL without its password, and without its parameters, which can contain one. */
export function shownUrl(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username}${username === "" ? "" : "@"}${host}${pathname}`;
}
