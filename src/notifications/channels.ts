/**
 * Channels deliver notifications outside the console. Operators have channels; an account has webhooks and
 * its e-mail address, which needs no configuration. Addresses and secrets are encrypted and never returned.
 */
import { fieldsOf, type RowFields } from '../db/row-fields.ts'
import { randomBytes } from 'node:crypto'
import { apiError, invalidField, notFound } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges } from '../db/audit-changes.ts'
import { expectChanges, requireAtMost, type Db } from '../db/db.ts'
import { sql, type ChannelKind, type ChannelsTable } from '../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../db/store-error.ts'
import { upstreamUrlProblem, type Cidr } from '../lib/address-guard.ts'
import { newId } from '../lib/ids.ts'
import { trimTrailing } from '../lib/trim-trailing.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { ChannelTarget } from './webhook-channels.ts'
import { checkKind, operatorAudience } from './notification-kinds.ts'
import { emailChannel, parseKinds } from './preferences.ts'
import type { Language } from './locales/notification-texts.ts'

export interface Channel extends Omit<RowFields<ChannelsTable>, 'target' | 'kinds' | 'language' | 'enabled'> {
  /** The kinds of notification it gets if no preference says otherwise. null: every kind. */
  readonly kinds: readonly string[] | null
  readonly language: Language
  readonly enabled: boolean
}

/** Omitted fields stay unchanged. */
export type ChannelPatch = Partial<Pick<Channel, 'name' | 'kinds' | 'language' | 'enabled'> & ChannelTarget>

export interface ChannelInput extends ChannelPatch {
  readonly audience: string
  readonly name: string
  readonly kind: ChannelKind
  readonly address: string
}

export interface ChannelContext {
  readonly db: Db
  readonly sealer: Sealer
  /** Private networks that channels may connect to. */
  readonly allow: readonly Cidr[]
}

const maxPerAudience = 50
const maxPerAccount = 5
const namePattern = /^[a-z0-9][a-z0-9_-]{0,39}$/
const mailPattern = /^[^\s@,;<>"]{1,64}@[^\s@,;<>"]{1,250}$/
const chatPattern = /^(?:-?\d{1,20}|@\w{4,64})$/
const tokenPattern = /^\d{1,20}:[\w-]{10,100}$/
const hookSecretPattern = /^whsec_[A-Za-z0-9+/]{32,128}={0,2}$/

function checkAddress(kind: ChannelKind, target: ChannelTarget, allow: readonly Cidr[]): void {
  const checkUrl = (url: string, param: string): void => {
    const problem = upstreamUrlProblem(url, allow)
    if (problem !== null) throw apiError('invalid_request', { param, message: problem })
  }
  if (kind === 'email') {
    if (!mailPattern.test(target.address)) throw invalidField('address', 'must be one e-mail address')
    return
  }
  if (kind === 'telegram') {
    if (!chatPattern.test(target.address))
      throw invalidField('address', 'must be a chat, such as -1001234 or @name')
    if (!tokenPattern.test(target.secret ?? '')) throw invalidField('secret', 'must be the bot’s token')
    if (target.server !== null) checkUrl(target.server, 'server')
    return
  }
  if (kind === 'webhook' && !hookSecretPattern.test(target.secret ?? ''))
    throw invalidField('secret', 'must be whsec_ and at least 24 bytes in base64')
  checkUrl(target.address, 'address')
}

/** Enough to recognise a channel, and too little to send to it. */
function addressHint(kind: ChannelKind, { address }: ChannelTarget): string {
  if (kind === 'email' || kind === 'telegram') return address
  const { origin } = new URL(address)
  return address.length > origin.length + 12 ? `${origin}/…${address.slice(-4)}` : `${origin}/…`
}

function cleanKinds(audience: string, kinds: readonly string[] | null): string | null {
  return kinds === null ? null : JSON.stringify([...new Set(kinds)].map((kind) => checkKind(audience, kind)))
}

function cleanName(name: string): string {
  if (name === emailChannel || !namePattern.test(name))
    throw invalidField('name', 'must consist of lower-case letters, digits, - and _, and must not be "email"')
  return name
}

function targetOf(input: ChannelPatch, before: ChannelTarget): ChannelTarget {
  const { address = before.address, secret = before.secret, server = before.server } = input
  return {
    address,
    secret,
    server: server === null || server === undefined ? null : trimTrailing(server, '/'),
  }
}

export function channelOf(row: ChannelsTable): Channel {
  const { target: _secret, ...fields } = fieldsOf(row)
  return {
    ...fields,
    kinds: parseKinds(row.kinds),
    language: row.language === 'zh-CN' ? 'zh-CN' : 'en',
    enabled: row.enabled === 1,
  }
}

/** `secret` is the one generated for a webhook without one. It is returned only here. */
export async function createChannel(
  { db, sealer, allow }: ChannelContext,
  input: ChannelInput,
  by: string,
): Promise<{ channel: Channel; secret: string | null }> {
  const { audience, kind } = input
  const isOperators = audience === operatorAudience
  if (!isOperators && kind !== 'webhook') throw invalidField('kind', 'must be webhook for an account')
  const maxChannels = isOperators ? maxPerAudience : maxPerAccount
  const needsSecret = kind === 'webhook' && (input.secret ?? null) === null
  const generatedSecret = needsSecret ? `whsec_${randomBytes(32).toString('base64')}` : null
  const target = targetOf(input, { address: '', secret: generatedSecret, server: null })
  const completeTarget = { ...target, secret: generatedSecret ?? target.secret }
  checkAddress(kind, completeTarget, allow)
  const now = Date.now()
  const id = newId('chn')
  const row: ChannelsTable = {
    id,
    audience,
    name: cleanName(input.name),
    kind,
    target: sealer.seal(JSON.stringify(completeTarget), id),
    hint: addressHint(kind, completeTarget),
    kinds: cleanKinds(audience, input.kinds ?? null),
    language: input.language ?? 'en',
    enabled: input.enabled === false ? 0 : 1,
    created_at: now,
    updated_at: now,
  }
  const { target: _sealed, ...auditDetail } = row
  const count = sql
    .selectFrom('channels')
    .select((build) => build.fn.countAll().as('count'))
    .where('audience', '=', audience)
  const written = db.write(
    sql.insertInto('channels').values(row),
    requireAtMost(count, maxChannels),
    auditStatement(by, 'channel.create', id, auditDetail),
  )
  await rejectIfTaken(
    row.name,
    written.catch((error: unknown) => {
      if (!isExpectationFailureOf(error, 1)) throw error
      throw apiError('conflict', {
        message: `At most ${maxChannels} channels are allowed. Delete one first.`,
      })
    }),
  )
  return { channel: channelOf(row), secret: generatedSecret }
}

async function rejectIfTaken(name: string, written: Promise<unknown>): Promise<void> {
  try {
    await written
  } catch (error) {
    if (isUniqueViolation(error, 'channels.audience'))
      throw apiError('conflict', { param: 'name', message: `A channel named "${name}" already exists.` })
    throw isExpectationFailureOf(error, 0) ? notFound('Channel') : error
  }
}

async function channelRow(db: Db, id: string): Promise<ChannelsTable> {
  const row = await db.first(sql.selectFrom('channels').selectAll().where('id', '=', id))
  if (row === undefined) throw notFound('Channel')
  return row
}

/** Throws 404 for an unknown id. */
export async function channelById(db: Db, id: string): Promise<Channel> {
  return channelOf(await channelRow(db, id))
}

/** Where a channel delivers to. Throws SealError if it was encrypted with another data key. */
export async function loadChannelTarget(db: Db, sealer: Sealer, id: string): Promise<ChannelTarget> {
  const row = await channelRow(db, id)
  return JSON.parse(sealer.unseal(row.target, id)) as ChannelTarget
}

/** A channel as the audit log has it: without its target, which may be secret. */
function auditedChannel(row: ChannelsTable): object {
  const { name, kinds, language, enabled } = row
  const kindList: unknown = kinds === null ? null : JSON.parse(kinds)
  return { name, kinds: kindList, language, enabled: enabled === 1 }
}

/** Throws 404 for an unknown id, 400 naming the field. A patch that changes nothing writes nothing. */
export async function updateChannel(
  { db, sealer, allow }: ChannelContext,
  id: string,
  patch: ChannelPatch,
  by: string,
): Promise<Channel> {
  const before = await channelRow(db, id)
  const set: Partial<ChannelsTable> = {}
  if (patch.name !== undefined) set.name = cleanName(patch.name)
  if (patch.kinds !== undefined) set.kinds = cleanKinds(before.audience, patch.kinds)
  if (patch.language !== undefined) set.language = patch.language
  if (patch.enabled !== undefined) set.enabled = patch.enabled ? 1 : 0
  if (patch.address !== undefined || patch.secret !== undefined || patch.server !== undefined) {
    const stored = JSON.parse(sealer.unseal(before.target, id)) as ChannelTarget
    const target = targetOf(patch, stored)
    if (before.kind === 'telegram' && target.server !== stored.server && patch.secret === undefined)
      throw invalidField('secret', 'must be sent with a new server, which never gets the stored token')
    checkAddress(before.kind, target, allow)
    set.target = sealer.seal(JSON.stringify(target), id)
    set.hint = addressHint(before.kind, target)
  }
  const after = { ...before, ...set }
  const isTargetChanged = sealer.unseal(after.target, id) !== sealer.unseal(before.target, id)
  const changes = auditChanges(auditedChannel(before), auditedChannel(after))
  if (changes === null && !isTargetChanged) return channelOf(before)
  const detail = { ...changes, ...(isTargetChanged ? { address: 'changed' } : {}) }
  const update = sql
    .updateTable('channels')
    .set({ ...set, updated_at: Date.now() })
    .where('id', '=', id)
  await rejectIfTaken(
    after.name,
    db.write(expectChanges(update, 1), auditStatement(by, 'channel.update', id, detail)),
  )
  return channelById(db, id)
}

/** Drops what is queued for the channel. Throws 404 for an unknown id. */
export async function deleteChannel(db: Db, id: string, by: string): Promise<void> {
  await rejectIfTaken(
    '',
    db.write(
      expectChanges(sql.deleteFrom('channels').where('id', '=', id), 1),
      sql.deleteFrom('deliveries').where('channel_id', '=', id),
      sql.deleteFrom('outbox').where('channel_id', '=', id),
      auditStatement(by, 'channel.delete', id),
    ),
  )
}

/** By name. Without an audience, the channels of all. */
export async function listChannels(db: Db, audience?: string): Promise<Channel[]> {
  const query = sql.selectFrom('channels').selectAll().orderBy('audience').orderBy('name')
  const rows = await db.all(audience === undefined ? query : query.where('audience', '=', audience))
  return rows.map(channelOf)
}
