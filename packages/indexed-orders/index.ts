// Orders that an index serves, cursors that refuse another order, and a right pageInfo: see README.md.
import { CursorsPlugin } from "./cursors.ts";
import { PageInfoPlugin } from "./page-info.ts";
import { makePagingArgumentsPlugin } from "./paging-arguments.ts";
import type { RefusedCursor } from "./refused-cursors.ts";
import { makeServedOrdersPlugin } from "./served-orders.ts";

export { nullKey } from "./cursors.ts";
export { orderNames, servedOrderList } from "./served-orders.ts";

/** `log` gets an error for each invalid tag. */
export const makeIndexedOrdersPlugins = (
  log: (error: unknown) => void,
  { refusedCursor }: { refusedCursor?: RefusedCursor } = {},
): GraphileConfig.Plugin[] => [
  makeServedOrdersPlugin(log),
  makePagingArgumentsPlugin(refusedCursor),
  CursorsPlugin,
  PageInfoPlugin,
];
