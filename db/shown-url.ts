// A database's URL as it may be shown.

/** The URL without its password and its parameters, which can hold one. */
export function shownUrl(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username}${username === "" ? "" : "@"}${host}${pathname}`;
}
