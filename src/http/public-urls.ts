/** The public URLs of the relay and its console, as shown to users. */
import type { Config } from '../config.ts'

/** Without a trailing slash. */
export function publicUrlOf(config: Config): string {
  if (config.publicUrl !== null) return config.publicUrl
  const isWildcard = config.host === '0.0.0.0' || config.host === '::'
  const host = isWildcard ? '127.0.0.1' : config.host
  const scheme = config.tlsCertFile === null ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${config.port}`
}

/** True if browsers reach the relay over HTTPS only: by its own TLS, or by a proxy's, as PUBLIC_URL says. */
export function isHttps({ tlsCertFile, publicUrl }: Config): boolean {
  return tlsCertFile !== null || (publicUrl?.startsWith('https:') ?? false)
}

/** The base URLs for applications, ending in `/v1`, the primary one first. */
export function baseUrlsOf(config: Config): string[] {
  const urls = config.publicUrls.length > 0 ? config.publicUrls : [publicUrlOf(config)]
  return urls.map((address) => `${address}/v1`)
}

/** A page of the console with a token in the fragment, which is neither sent to servers nor written to their logs. */
export function consoleLink(
  config: Config,
  page: 'set-up' | 'verify-email' | 'reset-password',
  token: string,
): string {
  return `${publicUrlOf(config)}/console/${page}#${token}`
}
