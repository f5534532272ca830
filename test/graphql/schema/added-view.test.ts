// A view is added by its statement, comments, tags and grant alone: then GraphQL lists it, describes it and finds its rows.
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { dataOf } from "../../graphql.ts";

it("a view that is created is listed, described, and found by its key", async () => {
  await using database = await makeDatabase();
  await registerMarkets(database.writer);
  await write(database.writer, { trades: [aTrade({ hour: 23 })], head: 24 });
  await database.owner.query(`
    create view dex_rating as
    select
      price.pair,
      5 as stars
    from dex_price as price
    where price.last is not null;
    comment on view dex_rating is E'@primaryKey pair\\nHow good a market is.';
    comment on column dex_rating.stars is 'From 1 to 5.';
    grant select on dex_rating to dex_reader;
  `);
  await using app = await makeTestApp(database.reader);
  const query = `{
    allDexRatings { totalCount nodes { pair stars } }
    dexRating(pair: "WETH/DAI") { stars }
    __type(name: "DexRating") { description fields { name description } }
  }`;
  expect(await dataOf(app, query)).toMatchObject({
    allDexRatings: { totalCount: 1, nodes: [{ pair: "WETH/DAI", stars: 5 }] },
    dexRating: { stars: 5 },
    __type: {
      description: "How good a market is.",
      fields: expect.arrayContaining([{ name: "stars", description: "From 1 to 5." }]),
    },
  });
});
