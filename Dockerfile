# Container image: `docker build -t sluice .`; see docs/operations/installation.md.
ARG NODE=node:26.10.0-bookworm-slim

# Builds the console the way `npm ci` does.
FROM ${NODE} AS console
WORKDIR /sluice
COPY . .
RUN npm ci --no-fund --no-audit

# Run-time dependencies only: no build tools, and no second Node next to the image's own.
FROM ${NODE} AS modules
WORKDIR /sluice
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-fund --no-audit

FROM ${NODE}
WORKDIR /sluice
COPY package.json LICENSE README.md ./
COPY bin bin
COPY src src
COPY --from=modules /sluice/node_modules node_modules
COPY --from=console /sluice/console/dist console/dist
RUN install -d -o node -g node -m 700 /data /var/cache/sluice && ln -s /sluice/bin/sluice.js /usr/local/bin/sluice
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data NODE_COMPILE_CACHE=/var/cache/sluice
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# The port opens when the start is complete. The first one of a newer release migrates the database, which may take long.
HEALTHCHECK --interval=10s --timeout=3s --start-period=1h \
  CMD ["node", "-e", "const { PORT, TLS_CERT_FILE } = process.env; require(TLS_CERT_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: PORT, path: '/healthz', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "bin/sluice.js"]
CMD ["serve"]
