/**
 * CORS, off by default: a web page that calls the relay exposes its key to every visitor. If an operator enables it,
 * only the configured origins are allowed.
 */

const allowHeaders = [
  'access-control-allow-methods',
  'GET, POST, OPTIONS',
  'access-control-allow-headers',
  'authorization, x-api-key, anthropic-version, anthropic-beta, anthropic-dangerous-direct-browser-access, content-type, idempotency-key, openai-organization, openai-project, x-stainless-arch, x-stainless-lang, x-stainless-os, x-stainless-package-version, x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout, x-stainless-helper-method',
  'access-control-expose-headers',
  'x-request-id, idempotent-replayed, request-id, x-sluice-cost, x-should-retry, retry-after, retry-after-ms, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens',
  'access-control-max-age',
  '86400',
]

/** Headers of a response to this origin, as a flat list. */
export function corsHeaders(origins: readonly string[], origin: string | undefined): readonly string[] {
  if (origins.length === 0 || origin === undefined) return []
  const any = origins.includes('*')
  if (!any && !origins.includes(origin)) return ['vary', 'origin']
  return ['access-control-allow-origin', any ? '*' : origin, 'vary', 'origin', ...allowHeaders]
}
