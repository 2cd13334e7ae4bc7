/** The public URLs of the relay and its console, as shown to users. */
import type { Config } from '../config.ts'

/** Whether a browser on this machine reaches this address as `localhost`. Passkeys work there, on IP addresses not. */
function isLocalHost(host: string): boolean {
  return ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host)
}

/** Without a trailing slash. */
export function publicUrlOf(config: Config): string {
  if (config.publicUrl !== null) return config.publicUrl
  const host = isLocalHost(config.host) ? 'localhost' : config.host
  const scheme = config.tlsCertFile === null ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${config.port}`
}

/** True if browsers reach the relay over HTTPS only: by its own TLS, or by a proxy's, as PUBLIC_URL says. */
export function isHttps({ tlsCertFile, publicUrl }: Config): boolean {
  return tlsCertFile !== null || (publicUrl?.startsWith('https:') ?? false)
}

/** The configured base URLs for applications, ending in `/v1`, the primary one first. */
export function configuredBaseUrls({ publicUrls }: Config): string[] {
  return publicUrls.map((address) => `${address}/v1`)
}

/** The base URLs for applications; without configured ones, the one that the listening address suggests. */
export function baseUrlsOf(config: Config): string[] {
  const configured = configuredBaseUrls(config)
  return configured.length > 0 ? configured : [`${publicUrlOf(config)}/v1`]
}

/** A page of the console with a token in the fragment, which is neither sent to servers nor written to their logs. */
export function consoleLink(
  config: Config,
  page: 'set-up' | 'verify-email' | 'reset-password',
  token: string,
): string {
  return `${publicUrlOf(config)}/console/${page}#${token}`
}
