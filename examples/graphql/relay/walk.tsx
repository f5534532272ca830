// Shows the trades on a page without a browser, asks for more until there are no more, and prints
// each as a line of JSON.
//
//   node relay/build/walk.js [order…]
import "./dom";
import { Suspense } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";
import type { DexTradesOrderBy } from "./__generated__/TradesQuery.graphql";
import { makeEnvironment } from "./environment";
import { Trades } from "./Trades";

const orders = process.argv.slice(2);
const orderBy = (orders.length > 0 ? orders : ["BLOCK_DESC"]) as DexTradesOrderBy[];

const main = document.querySelector("main")!;
let pages = 0;

new window.MutationObserver(() => {
  const rows = [...main.querySelectorAll("li")];
  const button = main.querySelector("button");
  if (rows.length === 0 || button?.disabled) return;
  pages += 1;
  if (button !== null) {
    button.click();
    return;
  }
  const lines = rows.map(({ dataset, textContent }) =>
    JSON.stringify({ id: dataset["id"], text: textContent }),
  );
  console.error(`${rows.length} trades in ${pages} pages`);
  // Relay keeps what it has read for some minutes, and by that the process.
  process.stdout.write(`${lines.join("\n")}\n`, () => process.exit());
}).observe(main, { childList: true, subtree: true, attributes: true });

createRoot(main).render(
  <RelayEnvironmentProvider environment={makeEnvironment()}>
    <Suspense fallback="Loading">
      <Trades orderBy={orderBy} />
    </Suspense>
  </RelayEnvironmentProvider>,
);
