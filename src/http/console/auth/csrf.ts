/**
 * Protection against cross-site request forgery: requests that change something must come from the console's own pages,
 * as `Sec-Fetch-Site` and `Origin` show. The cookie's SameSite attribute is the first defence; this is the second, and
 * the only one for sign-in itself.
 */
import type { Config } from '../../../config.ts'
import { apiError } from '../../../errors.ts'

export interface RequestOrigin {
  readonly method: string
  header(name: 'origin' | 'sec-fetch-site' | 'host'): string | undefined
}

function isOwnOrigin(config: Config, origin: string, host: string | undefined): boolean {
  if (config.publicUrl !== null && origin === new URL(config.publicUrl).origin) return true
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

/** Throws 403 for cross-site requests, and for changes without any origin header. */
export function checkSameSite(config: Config, request: RequestOrigin): void {
  const site = request.header('sec-fetch-site')
  const origin = request.header('origin')
  const isReading = request.method === 'GET' || request.method === 'HEAD'
  if (site !== undefined && site !== 'same-origin' && !(isReading && site === 'none'))
    throw apiError('cross_site')
  if (origin !== undefined && !isOwnOrigin(config, origin, request.header('host')))
    throw apiError('cross_site')
  if (!isReading && site === undefined && origin === undefined) throw apiError('cross_site')
}
