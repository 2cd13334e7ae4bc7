/** The addresses under which the relay and its console are reached, as people are told them. */
import type { Config } from '../config.ts'

/** Without a slash at its end. */
export function publicAddressOf(config: Config): string {
  if (config.publicUrl !== null) return config.publicUrl
  const anywhere = config.host === '0.0.0.0' || config.host === '::'
  const host = anywhere ? '127.0.0.1' : config.host
  const scheme = config.tlsCertFile === null ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${config.port}`
}

/** What an application is given, with its `/v1`: the best one first. */
export function baseUrlsOf(config: Config): string[] {
  const addresses = config.publicUrls.length > 0 ? config.publicUrls : [publicAddressOf(config)]
  return addresses.map((address) => `${address}/v1`)
}

/** A page of the console with a token behind `#`, where neither servers nor their logs see it. */
export function linkTo(
  config: Config,
  page: 'set-up' | 'verify-email' | 'reset-password',
  token: string,
): string {
  return `${publicAddressOf(config)}/console/${page}#${token}`
}
