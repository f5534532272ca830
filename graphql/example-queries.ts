// The queries that GraphiQL opens with, one for each main use of the service.
import { readFileSync } from "node:fs";

const FILE = new URL("example-queries.graphql", import.meta.url);

export const EXAMPLE_QUERIES = readFileSync(FILE, "utf8");
