// Answers on the wire: the bytes, length and ETag of a text, however it is sent.
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { encodingFor, etagAnswer, sendAnswer } from "../../http/answer.ts";

const TEXTS = {
  "short ASCII": '{"last":"2.001"}',
  "short, with other characters": '{"symbol":"é€😀","tab":"\\t"}',
  empty: "",
  "as long as is not compressed": "x".repeat(1024),
  "longer by its bytes only": "é".repeat(600),
  long: "0123456789".repeat(5000),
};

let server: Server;
let plain: string | Buffer = "";
beforeAll(async () => {
  server = createServer((req, res) => {
    const content = { type: "text/plain; charset=utf-8", cacheControl: "no-store", plain };
    void etagAnswer(content, encodingFor(req, "gzip")).then((answer) =>
      sendAnswer(req, res, answer),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const ask = (method: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method, headers });

describe.each(Object.entries(TEXTS))("a text: %s", (_name, text) => {
  const bytes = Buffer.from(text);
  const tag = `"${createHash("sha1").update(bytes).digest("base64url")}"`;

  it.each([
    ["text", text],
    ["bytes", bytes],
  ])("is the same made of %s", async (_kind, given) => {
    plain = given;
    const answer = await ask("GET", { "Accept-Encoding": "identity" });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
    expect(answer.headers.get("content-length")).toBe(String(bytes.length));
    expect(answer.headers.get("etag")).toBe(tag);
  });

  it("has its length for HEAD, and is left out for its ETag", async () => {
    plain = text;
    const head = await ask("HEAD", { "Accept-Encoding": "identity" });
    expect(head.headers.get("content-length")).toBe(String(bytes.length));
    const known = {
      "Accept-Encoding": "identity",
      "If-None-Match": tag,
      "Cache-Control": "max-age=0",
    };
    expect((await ask("GET", known)).status).toBe(304);
  });

  it("is compressed from 1,025 bytes", async () => {
    plain = text;
    const answer = await ask("GET", { "Accept-Encoding": "gzip" });
    const isLong = bytes.length > 1024;
    expect(answer.headers.get("content-encoding")).toBe(isLong ? "gzip" : null);
    expect(answer.headers.get("etag")).toBe(isLong ? tag.replace(/"$/, '-gzip"') : tag);
    // fetch has decompressed it.
    expect(await answer.text()).toBe(text);
  });
});
