/** The fields of an upstream: what is allowed, how they are stored, what they mean when they are read. */

import { sql as fragment, type RawBuilder } from 'kysely'
import { refuse, type Refusal } from '../errors.ts'
import { factorPpmOf } from '../lib/money.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { UpstreamsTable } from '../db/schema/schema.ts'
import type { UpstreamSettings } from '../providers/provider.ts'
import { proxyOf } from '../lib/http-client/proxy.ts'
import { providerNames } from '../providers/registry.ts'
import { priceOf, type Price, type PriceInput } from './prices.ts'

/** What an upstream costs us: prices in its own currency, and what one of it costs in the platform's. */
export type UpstreamCosts = PriceInput & {
  /** ISO 4217, in capitals; absent is the platform's. */
  readonly currency?: string
  /** Decimal string, at most six decimals; absent is "1". */
  readonly rate?: string
}

export interface UpstreamTimeouts {
  readonly connectMs?: number
  readonly firstTokenMs?: number
  readonly idleMs?: number
  readonly answerMs?: number
}

/** Not named stays; null removes. */
export interface UpstreamPatch {
  readonly name?: string
  readonly provider?: string
  readonly baseUrl?: string
  readonly credential?: string
  readonly proxy?: string | null
  readonly priority?: number
  readonly weight?: number
  readonly prices?: UpstreamCosts | null
  readonly timeouts?: { readonly [Name in keyof UpstreamTimeouts]?: number | null }
  readonly onAbort?: 'cancel' | 'drain'
  readonly enabled?: boolean
  readonly settings?: UpstreamSettings
  /** How often it is checked when nobody asks it. */
  readonly healthCheckMs?: number | null
}

/** What the outside world lends: who acts, how secrets are sealed, which addresses may be called. */
export interface UpstreamRules {
  readonly by: string
  readonly sealer: Sealer
  /** Says why an address may not be called; null when it may. */
  readonly checkUrl: (url: string) => string | null
}

/** First token and idle are for streams, answer for whole answers until their headers (admin API: Time-outs). */
export const defaultTimeouts: Required<UpstreamTimeouts> = {
  connectMs: 5_000,
  firstTokenMs: 120_000,
  idleMs: 120_000,
  answerMs: 600_000,
}

const timeoutWords = {
  connectMs: 'timeouts.connect_ms',
  firstTokenMs: 'timeouts.first_token_ms',
  idleMs: 'timeouts.idle_ms',
  answerMs: 'timeouts.answer_ms',
} as const
const timeoutNames = ['connectMs', 'firstTokenMs', 'idleMs', 'answerMs'] as const
const timeoutMaxMs = 3_600_000

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const currencyPattern = /^[A-Z]{3}$/
const credentialMax = 16_384
const settingsMax = 4096
const weightMax = 1_000_000
/** Often enough to notice in time, seldom enough to cost nothing that counts. */
const healthCheckBoundsMs = [1000, 86_400_000] as const
const ppm = 1_000_000n

function invalid(param: string, words: string): Refusal {
  return refuse('invalid_request', { param, message: `${param} ${words}.` })
}

export function parsedCosts(json: string | null): UpstreamCosts | null {
  return json === null ? null : (JSON.parse(json) as UpstreamCosts)
}

export function parsedTimeouts(json: string): UpstreamTimeouts {
  return JSON.parse(json) as UpstreamTimeouts
}

export function parsedSettings(json: string): UpstreamSettings {
  return JSON.parse(json) as UpstreamSettings
}

/** A proxy's address without its user name and password. */
export function shownProxy(address: string): string {
  const url = new URL(address)
  url.username = ''
  url.password = ''
  return url.href
}

/** Half a nano per million tokens is the most that this rounding moves; it is our cost, not a caller's. */
function converted(nanos: bigint, ratePpm: bigint): bigint {
  return (nanos * ratePpm + ppm / 2n) / ppm
}

/** What an upstream costs us, in nanos of the platform's currency. Refuses with 400 naming the component. */
export function upstreamPrice(costs: UpstreamCosts): Price {
  const price = priceOf(costs)
  const rate = BigInt(factorPpmOf(costs.rate ?? '1', 'prices.rate'))
  const optional = (nanos: bigint | null): bigint | null => (nanos === null ? null : converted(nanos, rate))
  return {
    free: price.free,
    input: converted(price.input, rate),
    output: converted(price.output, rate),
    cachedInput: optional(price.cachedInput),
    cacheWrite: optional(price.cacheWrite),
    cacheWrite1h: optional(price.cacheWrite1h),
    reasoning: optional(price.reasoning),
    perRequest: converted(price.perRequest, rate),
    perSearch: optional(price.perSearch),
  }
}

function costsJson(costs: UpstreamCosts | null): string | null {
  if (costs === null) return null
  if (costs.currency !== undefined && !currencyPattern.test(costs.currency)) {
    throw invalid('prices.currency', 'has to be three capital letters such as "USD"')
  }
  upstreamPrice(costs)
  return JSON.stringify(costs)
}

function whole(value: number, param: string, [least, most]: readonly [number, number]): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw invalid(param, `has to be a whole number from ${least} to ${most}`)
}

function timeoutsJson(timeouts: NonNullable<UpstreamPatch['timeouts']>): string {
  for (const name of timeoutNames) {
    const value = timeouts[name]
    if (value !== undefined && value !== null) whole(value, timeoutWords[name], [1, timeoutMaxMs])
  }
  return JSON.stringify(timeouts, [...timeoutNames])
}

/** Time-outs merged in the database, null removing, so that two patches at once both hold. */
export function timeoutsMerged(timeouts: NonNullable<UpstreamPatch['timeouts']>): {
  timeouts: RawBuilder<string>
} {
  return { timeouts: fragment<string>`json_patch(timeouts, ${timeoutsJson(timeouts)})` }
}

/** A new row's time-outs: what is set and not null. */
export function newTimeouts(timeouts: UpstreamPatch['timeouts']): string {
  const text = timeoutsJson(timeouts ?? {})
  return JSON.stringify(JSON.parse(text, (_name, value: unknown) => value ?? undefined))
}

/** Refuses an address that may not be called. */
function mayBeCalled(text: string, param: string, rules: UpstreamRules): void {
  const reason = rules.checkUrl(text)
  if (reason !== null) throw refuse('invalid_request', { param, message: `${param}: ${reason}` })
}

function cleanProxy(text: string, rules: UpstreamRules): string {
  try {
    mayBeCalled(`http://${proxyOf(text).authority}`, 'proxy', rules)
    return new URL(text).href
  } catch (error) {
    if (error instanceof TypeError) throw invalid('proxy', error.message)
    throw error
  }
}

/** Without a slash at its end, so that paths are put behind it. */
function cleanBaseUrl(text: string, rules: UpstreamRules): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid('base_url', 'has to be an address that begins with http:// or https://')
  }
  mayBeCalled(text, 'base_url', rules)
  if (url.username !== '' || url.password !== '' || url.hash !== '' || url.search !== '') {
    throw invalid(
      'base_url',
      'may not carry a user name, a query or a fragment; the credential has its own field',
    )
  }
  return url.href.replace(/\/+$/, '')
}

/** What a header may carry; a credential that is JSON (a service account's) never is a header itself. */
const carried = /^(?:[\x20-\x7e]*|\s*\{.*)$/s

/** Without what a paste brings along. Refuses with 400 what is too long, or can never be sent. */
export function cleanCredential(text: string): string {
  // Read from a file or pasted, a credential often ends with a line break, which no header may carry.
  const credential = text.trim()
  if (credential.length > credentialMax)
    throw invalid('credential', `may have at most ${credentialMax} characters`)
  if (!carried.test(credential))
    throw invalid('credential', 'has a line break or another character that no key has: paste it once more')
  return credential
}

/** Refuses with 400 what is no weight. */
export function weightOf(weight: number): number {
  return whole(weight, 'weight', [0, weightMax])
}

function settingsJson(settings: UpstreamSettings): string {
  const json = JSON.stringify(settings)
  if (json.length > settingsMax)
    throw invalid('settings', `may have at most ${settingsMax} characters as JSON`)
  return json
}

function addressesOf(patch: UpstreamPatch, id: string, rules: UpstreamRules): Partial<UpstreamsTable> {
  const set: Partial<UpstreamsTable> = {}
  if (patch.baseUrl !== undefined) set.base_url = cleanBaseUrl(patch.baseUrl, rules)
  if (patch.credential !== undefined)
    set.credential = rules.sealer.seal(cleanCredential(patch.credential), id)
  if (patch.proxy === null) set.proxy = null
  else if (patch.proxy !== undefined) set.proxy = rules.sealer.seal(cleanProxy(patch.proxy, rules), id)
  return set
}

/** The columns that a patch sets, checked; time-outs apart, because they merge. Refuses with 400 naming the field. */
export function changesOf(patch: UpstreamPatch, id: string, rules: UpstreamRules): Partial<UpstreamsTable> {
  const set = addressesOf(patch, id, rules)
  if (patch.name !== undefined) {
    if (!namePattern.test(patch.name)) throw invalid('name', 'has to be letters, digits, ".", "_" and "-"')
    set.name = patch.name
  }
  if (patch.provider !== undefined) {
    if (!providerNames.includes(patch.provider)) throw invalid('provider', 'has to be a known provider')
    set.provider = patch.provider
  }
  if (patch.priority !== undefined) set.priority = whole(patch.priority, 'priority', [-weightMax, weightMax])
  if (patch.weight !== undefined) set.weight = weightOf(patch.weight)
  if (patch.prices !== undefined) set.prices = costsJson(patch.prices)
  if (patch.onAbort !== undefined) set.on_abort = patch.onAbort
  if (patch.enabled !== undefined) set.enabled = patch.enabled ? 1 : 0
  if (patch.settings !== undefined) set.settings = settingsJson(patch.settings)
  if (patch.healthCheckMs === null) set.health_check_ms = null
  else if (patch.healthCheckMs !== undefined) {
    set.health_check_ms = whole(patch.healthCheckMs, 'health_check_ms', healthCheckBoundsMs)
  }
  return set
}
