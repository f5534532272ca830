// Uses a column's @name tag unchanged: PostGraphile would turn `vwap24h` into `vwap24H`. Upstream it is left to
// inflectors: https://github.com/graphile/crystal/issues/577.
export const ExactNamesPlugin: GraphileConfig.Plugin = {
  name: "ExactNamesPlugin",
  description: "Uses a column's @name tag unchanged as the field name.",

  inflection: {
    replace: {
      attribute(previous, _options, details) {
        const name = details.codec.attributes[details.attributeName]?.extensions?.tags?.name;
        return typeof name === "string" ? name : (previous?.(details) ?? details.attributeName);
      },
    },
  },
};
