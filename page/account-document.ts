// The document of an account: its trades, and its offers that are open and that have ended.
import {
  LOOKED_THROUGH,
  type AccountOffer,
  type DealtTrade,
  type OfferPage,
  type OfferPlace,
} from "../market/queries/deals.ts";
import { PAGE, type AccountPages, type ShownAccount } from "./account-page.ts";
import { documentOf, type Explorer } from "./document.ts";
import { html, type Html } from "./html.ts";
import { accountOf, transactionOf, wholeAccountOf } from "./shown-addresses.ts";
import { bidOf, lotOf, marketOf, priceOf, sideOf } from "./shown-deals.ts";
import { cells, momentOf, tableOf } from "./shown-figures.ts";

function tradeRow(trade: DealtTrade, { spellings }: ShownAccount, explorer: Explorer): Html {
  const isTaker = spellings.includes(trade.taker);
  const isMaker = spellings.includes(trade.maker);
  const [gave, got] = isTaker ? [bidOf(trade), lotOf(trade)] : [lotOf(trade), bidOf(trade)];
  return html`<tr class="trade" data-id="${trade.key}">
    ${cells([
      momentOf(trade.time),
      marketOf(trade),
      isTaker ? (isMaker ? "maker and taker" : "taker") : "maker",
      sideOf(trade.act, !isTaker),
      priceOf(trade),
      gave,
      got,
      accountOf(isTaker ? trade.maker : trade.taker, explorer),
      transactionOf(trade.tx, explorer),
    ])}
  </tr>`;
}

const stateOf = ({ killed, ended }: AccountOffer): string =>
  killed > 0 ? `cancelled in block ${killed}` : `filled in block ${ended ?? ""}`;

const offerRow = (offer: AccountOffer, open: boolean, explorer: Explorer): Html =>
  html`<tr class="trade" data-id="${offer.key}">
    ${cells([
      momentOf(offer.time),
      marketOf(offer),
      sideOf(offer.act, true),
      priceOf(offer),
      lotOf(offer),
      bidOf(offer),
      open ? (offer.left === null ? "–" : lotOf(offer, offer.left)) : stateOf(offer),
      transactionOf(offer.tx, explorer),
    ])}
  </tr>`;

const placeText = ({ block, id }: OfferPlace): string => `${block}.${id}`;

/** Links to the newest and to the older ones of one list; the pages of the others stay. */
function pagesOf(
  pages: AccountPages,
  name: keyof AccountPages,
  older: string | undefined,
  what: string,
): Html | string {
  const { trades, open, past } = pages;
  const asked: [keyof AccountPages, string | undefined][] = [
    ["trades", trades === undefined ? undefined : String(trades)],
    ["open", open && placeText(open)],
    ["past", past && placeText(past)],
  ];
  const address = (to: string | undefined): string => {
    const given = asked.map(([one, text]) => [one, one === name ? to : text] as const);
    const kept = given.filter(([, text]) => text !== undefined) as [string, string][];
    return `?${new URLSearchParams(kept).toString()}#${name}`;
  };
  const isFirst = pages[name] === undefined;
  if (isFirst && older === undefined) return "";
  return html`<nav class="blocks" aria-label="Pages of ${what}">
    ${isFirst ? "" : html`<a href="${address(undefined)}">Newest ${what}</a>`}
    ${older === undefined ? "" : html`<a href="${address(older)}">Older ${what}</a>`}
  </nav>`;
}

function tradesSection(account: ShownAccount, explorer: Explorer): Html {
  const { trades, pages, olderTrades } = account;
  return html`<section id="trades" aria-labelledby="trades-title">
    <h2 id="trades-title">Trades</h2>
    ${
      trades.length === 0
        ? html`<p>No ${pages.trades === undefined ? "" : "older "}trade.</p>`
        : tableOf(
            "Newest first. The side is the account's.",
            [
              ...["Time (UTC)", "Market", "As", "Side", "Price", "Gave", "Got", "With"],
              "Transaction",
            ],
            trades.map((trade) => tradeRow(trade, account, explorer)),
          )
    }
    ${pagesOf(pages, "trades", olderTrades === undefined ? undefined : String(olderTrades), "trades")}
  </section>`;
}

function offersSection(
  { offers, older }: OfferPage,
  { pages }: ShownAccount,
  explorer: Explorer,
  name: "open" | "past",
): Html {
  const what = `${name} offers`;
  const title = name === "open" ? "Open offers" : "Past offers";
  // Fewer than a page, and there are older offers: some were looked through that are of the other list.
  const within = older && offers.length < PAGE ? ` among the ${LOOKED_THROUGH} offers read` : "";
  const none = `None${within || (pages[name] === undefined ? "" : " that is older")}.`;
  return html`<section id="${name}" aria-labelledby="${name}-title">
    <h2 id="${name}-title">${title}</h2>
    ${
      offers.length === 0
        ? html`<p>${none}</p>`
        : tableOf(
            // Two regions of a page have different names.
            `${title}, newest first${within && `,${within}`}`,
            [
              ...["Made (UTC)", "Market", "Side", "Price", "Gives", "Wants"],
              ...[name === "open" ? "Left" : "State", "Transaction"],
            ],
            offers.map((offer) => offerRow(offer, name === "open", explorer)),
          )
    }
    ${pagesOf(pages, name, older && placeText(older), what)}
  </section>`;
}

export function accountDocument(account: ShownAccount, explorer: Explorer): string {
  const { address, block, time, pages, trades, open, past } = account;
  const isFirst = Object.keys(pages).length === 0;
  const isUnknown =
    isFirst && trades.length + open.offers.length + past.offers.length === 0 && !open.older;
  return documentOf({
    title: `Account ${address}`,
    description: `The trades and offers of ${address}.`,
    page: "account",
    main: html`<main id="page" data-page="account">
      <h1>Account</h1>
      <p>${wholeAccountOf(address, explorer)}</p>
      <p>As of ${block === null ? "" : html`block ${block}, `}${momentOf(time)} UTC</p>
      ${
        isUnknown
          ? html`<p>This address has no trade and no offer.</p>`
          : html`<div class="lists">
              ${tradesSection(account, explorer)} ${offersSection(open, account, explorer, "open")}
              ${offersSection(past, account, explorer, "past")}
            </div>`
      }
    </main>`,
  });
}
