# Container image: `docker build -t sluice .`; see docs/operations/installation.md.
ARG NODE=node:26.10.0-bookworm-slim

# Builds the npm package, once for all platforms: it has no native code.
FROM --platform=$BUILDPLATFORM ${NODE} AS package
WORKDIR /sluice
COPY . .
RUN npm ci --no-fund --no-audit && npm run package -- npm
RUN mkdir /package && tar -xzf dist-packages/sluice-*.tgz -C /package --strip-components=1

# The package on the image's own Node.js.
FROM ${NODE}
LABEL org.opencontainers.image.title="Sluice" \
  org.opencontainers.image.description="A self-hostable relay in front of AI language models, with exact money" \
  org.opencontainers.image.version="0.9.0" \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /sluice
COPY --from=package /package ./
RUN install -d -o node -g node -m 700 /data /var/cache/sluice && ln -s /sluice/bin/sluice /usr/local/bin/sluice
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
