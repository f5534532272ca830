// Marks the types of views: as of a past block, their records are computed.
import type { PgClass } from "pg-introspection";

declare global {
  namespace DataplanPg {
    interface PgCodecExtensions {
      isOfView?: boolean;
    }
  }
}

declare module "graphql" {
  // Declaration merging requires the type parameters of the original interface.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLObjectTypeExtensions<_TSource = any, _TContext = any> {
    isOfView?: boolean;
  }
}

const isView = ({ relkind }: PgClass): boolean => relkind === "v";

export const ViewRecordsPlugin: GraphileConfig.Plugin = {
  name: "ViewRecordsPlugin",
  description: "Marks the types of views.",

  gather: {
    hooks: {
      pgCodecs_PgCodec(_info, { pgCodec, pgClass }) {
        if (pgClass === undefined || !isView(pgClass)) return;
        pgCodec.extensions ??= {};
        pgCodec.extensions.isOfView = true;
      },
    },
  },

  schema: {
    hooks: {
      GraphQLObjectType(config, _build, { scope }) {
        if (scope.isPgClassType !== true || scope.pgCodec?.extensions?.isOfView !== true) {
          return config;
        }
        return { ...config, extensions: { ...config.extensions, isOfView: true } };
      },
    },
  },
};
