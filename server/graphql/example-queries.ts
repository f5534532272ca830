// The queries that GraphiQL opens with, one for each main use of the service.
export const EXAMPLE_QUERIES = /* GraphQL */ `
  # Run one of these by the button, or with Ctrl-Enter where the cursor is in it.
  # The documentation (the book on the left) says what each field is, its unit, and when it is null.

  # Prices, volume and the best offers of every market, as of the head.
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

  # The newest trades of one market, and how many it has.
  query NewestTrades {
    allDexTrades(first: 10, orderBy: BLOCK_DESC, condition: { market: "WETHDAI" }) {
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

  # All trades by pages: give endCursor as $after for the page that follows.
  query TradesByPages($after: Cursor) {
    allDexTrades(first: 100, after: $after, orderBy: [TIME_DESC, IDX_DESC]) {
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

  # Trades that a filter finds, each with the offer that it matched.
  query LargeTrades {
    allDexTrades(
      first: 10
      orderBy: TIME_DESC
      filter: {
        lotTkn: { equalToInsensitive: "weth" }
        lotAmt: { greaterThanOrEqualTo: "0.5" }
        time: { greaterThanOrEqualTo: "2020-01-01T00:00:00Z" }
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

  # One pair, with its tokens and its volume weighted prices.
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
