// `ask URL`: asks a service by each generated client, and prints what they give.
import { OpenAPI, V1Service, V2Service } from "./generated/codegen/index.ts";
import { createApiClient } from "./generated/zod.ts";

async function ask(url: string): Promise<void> {
  OpenAPI.BASE = url;
  // Checks each answer against the generated schema.
  const zod = createApiClient(url);
  const market = { params: { base: "weth", quote: "dai" } };
  const answers = {
    zod: {
      markets: await zod.get("/v1/markets"),
      prices: await zod.get("/v2/prices"),
      trades: await zod.get("/v2/trades/:base/:quote", market),
    },
    codegen: {
      markets: await V1Service.v1Markets(),
      prices: await V2Service.v2Prices(),
      trades: await V2Service.v2Trades("weth", "dai"),
    },
  };
  console.log(JSON.stringify(answers));
}

void ask(process.argv[2] ?? "");
