// A bare Express 5 that answers with bytes it holds: ANSWERS is a file of them, by path.
import express from "express";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { listenAndTell } from "./listen.ts";

const answers = JSON.parse(await readFile(process.env["ANSWERS"] ?? "", "utf8")) as {
  method: "GET" | "POST";
  path: string;
  body: string;
}[];

const app = express();
for (const { method, path, body } of answers) {
  const bytes = Buffer.from(body);
  app[method === "GET" ? "get" : "post"](path, (_req, res) => {
    res.type("json").send(bytes);
  });
}
listenAndTell(createServer(app));
