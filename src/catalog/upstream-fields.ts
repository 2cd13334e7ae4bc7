/** The fields of an upstream: their validation, their columns and their defaults. */

import { sql as fragment, type RawBuilder } from 'kysely'
import { apiError, invalidField } from '../errors.ts'
import { patchJson } from '../db/audit-changes.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { UpstreamsTable } from '../db/schema/schema.ts'
import type { UpstreamSettings } from '../providers/provider.ts'
import { parseProxy } from '../lib/http-client/proxy.ts'
import { trimTrailing } from '../lib/trim-trailing.ts'
import { providerNames } from '../providers/registry.ts'
import { addedColumns, type AddedFieldsPatch } from './added-fields.ts'
import { costsJson, type UpstreamCosts } from './costs.ts'
import { initialTimeoutsJson, type TimeoutsPatch } from './timeouts.ts'

/** What an upstream's row says about it, without secrets. */
export interface UpstreamFields {
  readonly id: string
  readonly name: string
  readonly provider: string
  readonly baseUrl: string
  /** Lower priorities are tried first. */
  readonly priority: number
  /** The share among upstreams of the same priority. 0: used only if no other is left. */
  readonly weight: number
  readonly onAbort: 'cancel' | 'drain'
  readonly enabled: boolean
  readonly settings: UpstreamSettings
  /** How often it is probed while idle. null: never. */
  readonly healthCheckMs: number | null
}

export function upstreamFields(row: UpstreamsTable): UpstreamFields {
  return {
    id: row.id,
    name: row.name,
    provider: row.provider,
    baseUrl: row.base_url,
    priority: row.priority,
    weight: row.weight,
    onAbort: row.on_abort,
    enabled: row.enabled === 1,
    settings: JSON.parse(row.settings) as UpstreamSettings,
    healthCheckMs: row.health_check_ms,
  }
}

/** Omitted fields stay unchanged. null removes a value. */
export interface UpstreamPatch extends Partial<Omit<UpstreamFields, 'id' | 'settings'>>, AddedFieldsPatch {
  readonly credential?: string
  readonly proxy?: string | null
  readonly prices?: UpstreamCosts | null
  readonly timeouts?: TimeoutsPatch
  readonly settings?: { readonly [Name in keyof UpstreamSettings]?: UpstreamSettings[Name] | null }
}

/** What the caller provides: the actor, the encryption of secrets and the rule for allowed addresses. */
export interface UpstreamContext {
  readonly by: string
  readonly sealer: Sealer
  /** Returns why an address must not be called, or null if it may be. */
  readonly checkUrl: (url: string) => string | null
  /** Rejects if the actor must not add an upstream, or give one another origin, provider or proxy. Absent: they may. */
  readonly authorizeNewDestination?: () => Promise<void>
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const maxCredentialLength = 16_384
const maxAllowedFields = 50
const fieldNamePattern = /^[\w$.:-]{1,64}$/
const maxWeight = 1_000_000
/** Short enough to notice failures in time, long enough to cost next to nothing. */
const healthCheckRangeMs = [1000, 86_400_000] as const

/** A proxy's address without user name and password. */
export function redactProxy(address: string): string {
  const url = new URL(address)
  url.username = ''
  url.password = ''
  return url.href
}

function checkInteger(value: number, param: string, [min, max]: readonly [number, number]): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw invalidField(param, `must be an integer from ${min} to ${max}`)
}

/** The timeouts and settings of a new row: those that are set and not null. */
export function initialOptions({
  timeouts,
  settings = {},
}: UpstreamPatch): Pick<UpstreamsTable, 'timeouts' | 'settings'> {
  return {
    timeouts: initialTimeoutsJson(timeouts),
    settings: patchJson('{}', settingsJson(settings)),
  }
}

/** Throws 400 for an address that must not be called. */
function checkAllowedUrl(text: string, param: string, context: UpstreamContext): void {
  const reason = context.checkUrl(text)
  if (reason !== null) throw apiError('invalid_request', { param, message: `${param}: ${reason}` })
}

function cleanProxy(text: string, context: UpstreamContext): string {
  try {
    checkAllowedUrl(`http://${parseProxy(text).authority}`, 'proxy', context)
    return new URL(text).href
  } catch (error) {
    if (error instanceof TypeError) throw invalidField('proxy', error.message)
    throw error
  }
}

/** Without a trailing slash, so that paths can be appended. */
function cleanBaseUrl(text: string, context: UpstreamContext): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalidField('base_url', 'must be an address that begins with http:// or https://')
  }
  checkAllowedUrl(text, 'base_url', context)
  if (url.username !== '' || url.password !== '' || url.hash !== '' || url.search !== '') {
    throw invalidField(
      'base_url',
      'must not contain a user name, a query or a fragment; use the credential field for secrets',
    )
  }
  return trimTrailing(url.href, '/')
}

/**
 * What a header can contain. A JSON credential, such as a service account's, is never sent as a header
 * itself.
 */
const credentialPattern = /^(?:[\x20-\x7e]*|\s*\{.*)$/s

/** Trims a credential. Throws 400 if it is too long or can never be sent. */
export function cleanCredential(text: string): string {
  // A credential read from a file or pasted often ends with a line break, which no header can contain.
  const credential = text.trim()
  if (credential.length > maxCredentialLength)
    throw invalidField('credential', `must have at most ${maxCredentialLength} characters`)
  if (!credentialPattern.test(credential))
    throw invalidField('credential', 'contains a line break or another invalid character; paste it again')
  return credential
}

/** Throws 400 for an invalid weight. */
export function checkWeight(weight: number): number {
  return checkInteger(weight, 'weight', [0, maxWeight])
}

/** A validated patch as JSON. An empty list is removed. Throws 400 naming the field. */
export function settingsJson({ allowedFields, ...others }: NonNullable<UpstreamPatch['settings']>): string {
  const names = allowedFields && [...new Set(allowedFields)]
  if (names && (names.length > maxAllowedFields || !names.every((name) => fieldNamePattern.test(name))))
    throw invalidField('allowed_fields', `must be a list of at most ${maxAllowedFields} names of fields`)
  return JSON.stringify({ ...others, allowedFields: names?.length === 0 ? null : names })
}

/** Merges settings in the database, where null removes one. */
export function mergeSettings(settings: NonNullable<UpstreamPatch['settings']>): {
  settings: RawBuilder<string>
} {
  return { settings: fragment<string>`json_patch(settings, ${settingsJson(settings)})` }
}

function addressColumns(patch: UpstreamPatch, id: string, context: UpstreamContext): Partial<UpstreamsTable> {
  const set: Partial<UpstreamsTable> = {}
  if (patch.baseUrl !== undefined) set.base_url = cleanBaseUrl(patch.baseUrl, context)
  if (patch.credential !== undefined)
    set.credential = context.sealer.seal(cleanCredential(patch.credential), id)
  if (patch.proxy === null) set.proxy = null
  else if (patch.proxy !== undefined) set.proxy = context.sealer.seal(cleanProxy(patch.proxy, context), id)
  return set
}

/**
 * The columns that a patch sets, validated. Timeouts and settings are separate, because they are merged. Throws 400
 * naming the field.
 */
export function toColumns(
  patch: UpstreamPatch,
  id: string,
  context: UpstreamContext,
): Partial<UpstreamsTable> {
  const set = { ...addressColumns(patch, id, context), ...addedColumns(patch, id, context.sealer) }
  if (patch.name !== undefined) {
    if (!namePattern.test(patch.name))
      throw invalidField('name', 'must consist of letters, digits, ".", "_" and "-"')
    set.name = patch.name
  }
  if (patch.provider !== undefined) {
    if (!providerNames.includes(patch.provider)) throw invalidField('provider', 'must be a known provider')
    set.provider = patch.provider
  }
  if (patch.priority !== undefined)
    set.priority = checkInteger(patch.priority, 'priority', [-maxWeight, maxWeight])
  if (patch.weight !== undefined) set.weight = checkWeight(patch.weight)
  if (patch.prices !== undefined) set.prices = costsJson(patch.prices, 'prices')
  if (patch.onAbort !== undefined) set.on_abort = patch.onAbort
  if (patch.enabled !== undefined) set.enabled = patch.enabled ? 1 : 0
  if (patch.healthCheckMs === null) set.health_check_ms = null
  else if (patch.healthCheckMs !== undefined) {
    set.health_check_ms = checkInteger(patch.healthCheckMs, 'health_check_ms', healthCheckRangeMs)
  }
  return set
}
