// What an operation says in its context, for a total that belongs to the snapshot of its page without a transaction.

/** Learns whether each total is of its page's snapshot. If one is not, the operation must run in a transaction. */
export interface PageAttempt {
  report(isOfPage: boolean): void;
}

declare global {
  namespace Grafast {
    interface Context {
      /** Whether the operation is one page and its total: another plan than with anything else. */
      isOnePage?: boolean;
      /** Undefined in a transaction, and in an operation without a page and its total. */
      attempt?: PageAttempt | undefined;
      /** Whether the operation reads fewer rows than the tables have now: its counts are not kept. */
      isBounded?: boolean;
    }
  }
}

declare module "graphql" {
  // Declaration merging requires the type parameters of the original interface.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs = any> {
    /** On a field of Query: whether the statement of its page may suffice for its totalCount. */
    isCountedBesidePage?: boolean;
  }
}
