# The service, for a separate PostgreSQL (DATABASE_URL); compose.yaml shows it with one. The
# embedded PostgreSQL and the Node of package.json are left out: this image has its own Node.
# Any base with Node 24, npm and an account `node` will do.
ARG BASE=node:24-bookworm-slim
FROM ${BASE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages ./packages
COPY traces ./traces
# No install script makes anything that is run. Removed is what no program reads: maps, types and sources in TypeScript, which
# Node runs nowhere below node_modules, pages, builds for developers, builds of Swagger UI that no page loads, and
# what comes in two kinds of modules.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
  && npm ci --prefix traces --ignore-scripts --no-audit --no-fund \
  && find node_modules traces/node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.[cm]ts' -o -name '*.md' \
    -o -name '*.development.*' -o -path '*/swagger-ui-dist/*-es-bundle*' \) -delete \
  && rm -r node_modules/viem/_cjs node_modules/ox/_cjs traces/node_modules/@opentelemetry/*/build/es*

FROM ${BASE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json .gmrc ./
COPY chain ./chain
COPY db ./db
COPY graphql ./graphql
COPY http ./http
COPY market ./market
COPY packages ./packages
COPY page ./page
COPY rest ./rest
COPY server ./server
COPY --from=packages /app/traces ./traces
# It writes nothing: run it with a read-only root.
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "server/main.ts"]
