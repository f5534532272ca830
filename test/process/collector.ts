// A collector of traces: takes OTLP/HTTP as JSON and keeps the spans; any other body it only counts.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status: { code: number };
  attributes: Record<string, unknown>;
}

interface Otlp {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (Omit<CollectedSpan, "attributes"> & { attributes: Attribute[] })[] }[];
  }[];
}
interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

const asRecord = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** The attributes of the process that sent last. */
  resource: Record<string, unknown> = {};
  /** Path, content type and length of each request. */
  readonly asked: { url: string; type: string; body: Buffer }[] = [];
  /** What it does with a request; by default it takes it. */
  answer: (res: ServerResponse) => void = (res) => void res.end("{}");
  readonly #server = createServer((req, res) => void this.#take(req, res));

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  /** Of one trace, by name, once one without a parent here has come. */
  async trace(traceId: string, root: (span: CollectedSpan) => boolean): Promise<CollectedSpan[]> {
    for (;;) {
      const spans = this.spans.filter((span) => span.traceId === traceId);
      if (spans.some(root)) return spans;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const type = req.headers["content-type"] ?? "";
    this.asked.push({ url: req.url ?? "", type, body });
    if (type === "application/json") {
      for (const { resource, scopeSpans } of (JSON.parse(body.toString()) as Otlp).resourceSpans) {
        this.resource = asRecord(resource.attributes);
        for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
          this.spans.push({ ...span, attributes: asRecord(span.attributes) });
        }
      }
    }
    this.answer(res);
  }
}
