// Nodes that lie by the form of their answers: late, cut, refused, or none.
import { describeLies } from "./lies.ts";

describeLies([
  ["answers late", { name: "late", ms: 20 }, /never/],
  ["does not answer", { name: "no answer" }, /timed out/],
  ["closes the connection", { name: "closed connection" }, /fetch failed/],
  ["answers 429", { name: "status", status: 429, retryAfter: 0.02 }, /status 429/],
  ["answers 503", { name: "status", status: 503, body: "no backend" }, /status 503/],
  ["sends half a body", { name: "half body" }, /terminated/],
  ["sends half the JSON", { name: "wrong JSON" }, /JSON/],
  ["sends a page", { name: "HTML" }, /JSON/],
  ["reverses a batch", { name: "reversed batch" }, /never/],
  ["shortens a batch", { name: "short batch" }, /Expected \d+ responses/],
  ["refuses", { name: "RPC error", code: -32603, message: "internal error" }, /internal error/],
  [
    "refuses logs",
    { name: "RPC error", code: -32000, message: "no logs", methods: ["eth_getLogs"] },
    /no logs/,
  ],
  [
    "refuses blocks",
    { name: "RPC error", code: -32000, message: "no", methods: ["eth_getBlockByNumber"] },
    /eth_getBlockByNumber: no/,
  ],
]);
