// Takes a column's @name tag as it is written: `vwap24h` would else become `vwap24H`.
export const ExactNamesPlugin: GraphileConfig.Plugin = {
  name: "ExactNamesPlugin",
  version: "1.0.0",
  description: "A column's @name tag is its name in GraphQL, to the letter.",

  inflection: {
    replace: {
      attribute(previous, _options, details) {
        const name = details.codec.attributes[details.attributeName]?.extensions?.tags?.name;
        return typeof name === "string" ? name : (previous?.(details) ?? details.attributeName);
      },
    },
  },
};
