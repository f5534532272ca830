// A list of trades that grows by a button, with usePaginationFragment.
import { graphql, useLazyLoadQuery, usePaginationFragment } from "react-relay";
import type { DexTradesOrderBy, TradesQuery } from "./__generated__/TradesQuery.graphql";
import type { Trades_query$key } from "./__generated__/Trades_query.graphql";
import type { TradesPageQuery } from "./__generated__/TradesPageQuery.graphql";

const PAGE = 1000;

export function Trades({ orderBy }: { orderBy: DexTradesOrderBy[] }) {
  const query = useLazyLoadQuery<TradesQuery>(
    graphql`
      query TradesQuery($count: Int!, $orderBy: [DexTradesOrderBy!]!) {
        ...Trades_query @arguments(count: $count, orderBy: $orderBy)
      }
    `,
    { count: PAGE, orderBy },
  );
  return <List query={query} />;
}

function List({ query }: { query: Trades_query$key }) {
  const { data, hasNext, isLoadingNext, loadNext } = usePaginationFragment<
    TradesPageQuery,
    Trades_query$key
  >(
    graphql`
      fragment Trades_query on Query
      @refetchable(queryName: "TradesPageQuery")
      @argumentDefinitions(
        count: { type: "Int!" }
        cursor: { type: "Cursor" }
        orderBy: { type: "[DexTradesOrderBy!]!" }
      ) {
        allDexTrades(first: $count, after: $cursor, orderBy: $orderBy)
          @connection(key: "Trades_allDexTrades") {
          edges {
            node {
              nodeId
              id
              market
              price
              time
            }
          }
        }
      }
    `,
    query,
  );
  return (
    <>
      <ol>
        {data.allDexTrades?.edges.map((edge) => (
          // The price is a string, exact to its last digit: shown as it came.
          <li key={edge?.node?.nodeId} data-id={edge?.node?.id}>
            {edge?.node?.time} {edge?.node?.market} {edge?.node?.price}
          </li>
        ))}
      </ol>
      {hasNext && (
        <button disabled={isLoadingNext} onClick={() => loadNext(PAGE)}>
          More
        </button>
      )}
    </>
  );
}
