// A bare Express 5 server that sends fixed bytes; ANSWERS is a JSON file of answers by path.
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
