/**
 * Channels: where notices are brought beside the console. The operators have theirs; an account has webhooks of its own,
 * and its e-mail address, which is no channel that anybody sets up. Addresses and secrets are sealed and never told.
 */
import { randomBytes } from 'node:crypto'
import { refuse, type Refusal } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql, type ChannelKind, type ChannelsTable } from '../db/schema/schema.ts'
import { isTaken, isUnmet } from '../db/store-error.ts'
import { checkUpstreamUrl, type Cidr } from '../lib/address-guard.ts'
import { newId } from '../lib/ids.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { Target } from './webhook-channels.ts'
import { checkKind, operator } from './notification-kinds.ts'
import { email, kindsIn } from './preferences.ts'
import type { Language } from './locales/notification-texts.ts'

export interface Channel {
  readonly id: string
  /** `operator`, or an account's id. */
  readonly audience: string
  readonly name: string
  readonly kind: ChannelKind
  /** What may be shown of its address. */
  readonly hint: string
  /** The kinds of notice it gets where no preference says otherwise; null is every kind. */
  readonly kinds: readonly string[] | null
  readonly language: Language
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** Not named stays. */
export interface ChannelPatch {
  readonly name?: string
  readonly address?: string
  readonly secret?: string | null
  readonly server?: string | null
  readonly kinds?: readonly string[] | null
  readonly language?: Language
  readonly enabled?: boolean
}

export interface ChannelInput extends ChannelPatch {
  readonly audience: string
  readonly name: string
  readonly kind: ChannelKind
  readonly address: string
}

export interface ChannelMeans {
  readonly db: Db
  readonly sealer: Sealer
  /** Private networks that channels may lead to. */
  readonly allow: readonly Cidr[]
}

const mostPerAudience = 50
const mostPerAccount = 5
const namePattern = /^[a-z0-9][a-z0-9_-]{0,39}$/
const mailPattern = /^[^\s@,;<>"]{1,64}@[^\s@,;<>"]{1,250}$/
const chatPattern = /^(?:-?\d{1,20}|@\w{4,64})$/
const tokenPattern = /^\d{1,20}:[\w-]{10,100}$/
const hookSecretPattern = /^whsec_[A-Za-z0-9+/]{32,128}={0,2}$/

function invalid(param: string, message: string): Refusal {
  return refuse('invalid_request', { param, message: `${param} ${message}.` })
}

function noSuchChannel(): Refusal {
  return refuse('not_found', { message: 'There is no such channel.' })
}

function checkAddress(kind: ChannelKind, target: Target, allow: readonly Cidr[]): void {
  const checkUrl = (url: string, param: string): void => {
    const problem = checkUpstreamUrl(url, allow)
    if (problem !== null) throw refuse('invalid_request', { param, message: problem })
  }
  if (kind === 'email') {
    if (!mailPattern.test(target.address)) throw invalid('address', 'has to be one e-mail address')
    return
  }
  if (kind === 'telegram') {
    if (!chatPattern.test(target.address))
      throw invalid('address', 'has to be a chat, such as -1001234 or @name')
    if (!tokenPattern.test(target.secret ?? '')) throw invalid('secret', 'has to be the bot’s token')
    if (target.server !== null) checkUrl(target.server, 'server')
    return
  }
  if (kind === 'webhook' && !hookSecretPattern.test(target.secret ?? ''))
    throw invalid('secret', 'has to be whsec_ and at least 24 bytes in base64')
  checkUrl(target.address, 'address')
}

/** Enough to tell one channel from another, and too little to write to it. */
function hintOf(kind: ChannelKind, { address }: Target): string {
  if (kind === 'email' || kind === 'telegram') return address
  const { origin } = new URL(address)
  return address.length > origin.length + 12 ? `${origin}/…${address.slice(-4)}` : `${origin}/…`
}

function cleanKinds(audience: string, kinds: readonly string[] | null): string | null {
  return kinds === null ? null : JSON.stringify([...new Set(kinds)].map((kind) => checkKind(audience, kind)))
}

function cleanName(name: string): string {
  if (name === email || !namePattern.test(name))
    throw invalid('name', 'has to be lower-case letters, digits, - and _, and not "email"')
  return name
}

function targetOf(input: ChannelPatch, before: Target): Target {
  const { address = before.address, secret = before.secret, server = before.server } = input
  return { address, secret, server: server?.replace(/\/+$/, '') ?? null }
}

export function channelOf(row: ChannelsTable): Channel {
  return {
    id: row.id,
    audience: row.audience,
    name: row.name,
    kind: row.kind,
    hint: row.hint,
    kinds: kindsIn(row.kinds),
    language: row.language === 'zh-CN' ? 'zh-CN' : 'en',
    enabled: row.enabled === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** `secret`: the one that was made for a webhook given none; told here and never again. */
export async function createChannel(
  { db, sealer, allow }: ChannelMeans,
  input: ChannelInput,
  by: string,
): Promise<{ channel: Channel; secret: string | null }> {
  const { audience, kind } = input
  const isOperators = audience === operator
  if (!isOperators && kind !== 'webhook') throw invalid('kind', 'has to be webhook for an account')
  const most = isOperators ? mostPerAudience : mostPerAccount
  if ((await listChannels(db, audience)).length >= most)
    throw refuse('conflict', { message: `There are ${most} channels already.` })
  const isMade = kind === 'webhook' && (input.secret ?? null) === null
  const made = isMade ? `whsec_${randomBytes(32).toString('base64')}` : null
  const target = targetOf(input, { address: '', secret: made, server: null })
  const whole = { ...target, secret: made ?? target.secret }
  checkAddress(kind, whole, allow)
  const now = Date.now()
  const id = newId('chn')
  const row: ChannelsTable = {
    id,
    audience,
    name: cleanName(input.name),
    kind,
    target: sealer.seal(JSON.stringify(whole), id),
    hint: hintOf(kind, whole),
    kinds: cleanKinds(audience, input.kinds ?? null),
    language: input.language ?? 'en',
    enabled: input.enabled === false ? 0 : 1,
    created_at: now,
    updated_at: now,
  }
  const { target: _sealed, ...told } = row
  await unlessTaken(
    row.name,
    db.write(sql.insertInto('channels').values(row), auditRow(by, 'channel.create', id, told)),
  )
  return { channel: channelOf(row), secret: made }
}

async function unlessTaken(name: string, written: Promise<unknown>): Promise<void> {
  try {
    await written
  } catch (error) {
    if (isTaken(error, 'channels.audience'))
      throw refuse('conflict', { param: 'name', message: `A channel named "${name}" exists.` })
    throw isUnmet(error, 0) ? noSuchChannel() : error
  }
}

async function rowById(db: Db, id: string): Promise<ChannelsTable> {
  const row = await db.first(sql.selectFrom('channels').selectAll().where('id', '=', id))
  if (row === undefined) throw noSuchChannel()
  return row
}

/** Refuses with 404 for an unknown id. */
export async function channelById(db: Db, id: string): Promise<Channel> {
  return channelOf(await rowById(db, id))
}

/** Where a channel leads. Throws SealError when the data key is another one. */
export async function openChannel(db: Db, sealer: Sealer, id: string): Promise<Target> {
  const row = await rowById(db, id)
  return JSON.parse(sealer.unseal(row.target, id)) as Target
}

/** Refuses with 404 for an unknown id and 400 naming the field. */
export async function updateChannel(
  { db, sealer, allow }: ChannelMeans,
  id: string,
  patch: ChannelPatch,
  by: string,
): Promise<Channel> {
  const before = await rowById(db, id)
  const set: Partial<ChannelsTable> = { updated_at: Date.now() }
  if (patch.name !== undefined) set.name = cleanName(patch.name)
  if (patch.kinds !== undefined) set.kinds = cleanKinds(before.audience, patch.kinds)
  if (patch.language !== undefined) set.language = patch.language
  if (patch.enabled !== undefined) set.enabled = patch.enabled ? 1 : 0
  if (patch.address !== undefined || patch.secret !== undefined || patch.server !== undefined) {
    const target = targetOf(patch, JSON.parse(sealer.unseal(before.target, id)) as Target)
    checkAddress(before.kind, target, allow)
    set.target = sealer.seal(JSON.stringify(target), id)
    set.hint = hintOf(before.kind, target)
  }
  const { target: _sealed, ...told } = set
  const update = expecting(sql.updateTable('channels').set(set).where('id', '=', id), 1)
  await unlessTaken(set.name ?? before.name, db.write(update, auditRow(by, 'channel.update', id, told)))
  return channelById(db, id)
}

/** What was on its way to it is dropped. Refuses with 404 for an unknown id. */
export async function deleteChannel(db: Db, id: string, by: string): Promise<void> {
  await unlessTaken(
    '',
    db.write(
      expecting(sql.deleteFrom('channels').where('id', '=', id), 1),
      sql.deleteFrom('deliveries').where('channel_id', '=', id),
      sql.deleteFrom('outbox').where('channel_id', '=', id),
      auditRow(by, 'channel.delete', id),
    ),
  )
}

/** By name; absent: everybody's. */
export async function listChannels(db: Db, audience?: string): Promise<Channel[]> {
  const query = sql.selectFrom('channels').selectAll().orderBy('audience').orderBy('name')
  const rows = await db.all(audience === undefined ? query : query.where('audience', '=', audience))
  return rows.map(channelOf)
}
