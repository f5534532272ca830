// The queries that GraphiQL opens with, one for each main use of the service. Not tagged as GraphQL: Prettier
// would join lines beyond the width of the editor.
export const EXAMPLE_QUERIES = `
  # Run one of these by the button, or press
  # Ctrl-Enter with the cursor in it. The book on
  # the left documents each field.

  # Prices, volume and the best offers of every
  # market, as of the head.
  query Markets {
    dexHead {
      block
      time
    }
    allDexMarkets(condition: { active: true }) {
      nodes {
        pair
        last
        bid
        ask
        high
        low
        vol
      }
    }
  }

  # The newest trades of one market, and their count.
  query NewestTrades {
    allDexTrades(
      first: 10
      orderBy: BLOCK_DESC
      condition: { market: "WETHDAI" }
    ) {
      totalCount
      nodes {
        time
        act
        price
        lotAmt
        lotTkn
        bidAmt
        bidTkn
        taker
      }
    }
  }

  # All trades, page by page: give endCursor as
  # $after to get the next page.
  query TradesByPages($after: Cursor) {
    allDexTrades(
      first: 100
      after: $after
      orderBy: [TIME_DESC, IDX_DESC]
    ) {
      nodes {
        id
        market
        price
        time
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }

  # Trades by a filter, each with its offer.
  query LargeTrades {
    allDexTrades(
      first: 10
      orderBy: TIME_DESC
      filter: {
        lotTkn: { equalToInsensitive: "weth" }
        lotAmt: { greaterThan: "0.5" }
        time: { greaterThan: "2020-01-01T00:00:00Z" }
      }
    ) {
      nodes {
        lotAmt
        price
        time
        offer {
          lotAmt
          maker
          filled
        }
      }
    }
  }

  # One pair, with its tokens and volume weighted
  # prices.
  query OnePair {
    dexPair(base: "WETH", quote: "DAI") {
      basePrecision
      quotePrecision
      baseToken {
        address
        name
      }
      quoteToken {
        address
        name
      }
      dexPrice {
        vwap24h
        vwap12h
        vwap6h
        vwap1h
      }
    }
  }
`;
