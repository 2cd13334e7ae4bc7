/**
 * No other site can act in the name of who is signed in here: what changes something has to come from the console's own
 * pages, which browsers tell by `Sec-Fetch-Site` and `Origin`. The cookie's SameSite says the same; this is the second
 * lock, and the only one for signing in itself.
 */
import type { Config } from '../../../config.ts'
import { refuse } from '../../../errors.ts'

export interface Sender {
  readonly method: string
  /** The header of this name. */
  header(name: 'origin' | 'sec-fetch-site' | 'host'): string | undefined
}

function isOwn(config: Config, origin: string, host: string | undefined): boolean {
  if (config.publicUrl !== null && origin === new URL(config.publicUrl).origin) return true
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

/** Throws 403 for what another site asks, and for changes that do not say where they come from. */
export function checkSameSite(config: Config, sender: Sender): void {
  const site = sender.header('sec-fetch-site')
  const origin = sender.header('origin')
  const isReading = sender.method === 'GET' || sender.method === 'HEAD'
  if (site !== undefined && site !== 'same-origin' && !(isReading && site === 'none'))
    throw refuse('cross_site')
  if (origin !== undefined && !isOwn(config, origin, sender.header('host'))) throw refuse('cross_site')
  if (!isReading && site === undefined && origin === undefined) throw refuse('cross_site')
}
