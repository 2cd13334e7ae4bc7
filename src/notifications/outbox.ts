/**
 * The outbox: from a notice to messages that were taken. Each notice is given once to the channels that are to bring it;
 * what waits for a channel goes together as one message; a message is tried again, under the same id, until it is
 * taken or too old. Each step is one batch, so that nothing is lost or doubled by an end in its middle, but for a
 * message that was taken in the very moment of a crash: it comes again with its id.
 */
import type { Db, Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import { channelOf, type Channel } from './channels.ts'
import { operator } from './notification-kinds.ts'
import { noticeOf, type Notice } from './notifications.ts'
import { email, usualChannels } from './preferences.ts'

/** A message carries so many notices at most; what is more waits for the next. */
export const noticesPerMessage = 100
const noticesAtOnce = 200
/** Of one channel; the oldest are dropped. A receiver that takes nothing must not fill the disk. */
const mostWaiting = 1000

/** 10 s, 20 s, 40 s … an hour: given up after about eight hours. */
export const mostAttempts = 16
const firstPauseMs = 10_000
const longestPauseMs = 3_600_000

/** `email:acc_…`: the e-mail address of an account. */
export const mailOf = (account: string): string => `email:${account}`

export function accountOfMail(channelId: string): string | null {
  return channelId.startsWith('email:') ? channelId.slice('email:'.length) : null
}

/** How long a message rests after so many failed attempts. */
export function pauseAfter(attempts: number, retryAfterMs: number | null): number {
  const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1))
  return Math.min(longestPauseMs, Math.max(pause, retryAfterMs ?? 0))
}

interface Wishes {
  readonly channels: readonly Channel[]
  /** `audience kind` → names of channels, where somebody chose. */
  readonly chosen: ReadonlyMap<string, readonly string[]>
  readonly hasMail: boolean
}

async function wishesOf(db: Db, audiences: readonly string[], hasMail: boolean): Promise<Wishes> {
  const [channels, preferences] = await Promise.all([
    db.all(
      sql.selectFrom('channels').selectAll().where('audience', 'in', audiences).where('enabled', '=', 1),
    ),
    db.all(sql.selectFrom('notice_preferences').selectAll().where('audience', 'in', audiences)),
  ])
  return {
    channels: channels.map(channelOf),
    chosen: new Map(
      preferences.map((row) => [`${row.audience} ${row.kind}`, JSON.parse(row.channels) as string[]]),
    ),
    hasMail,
  }
}

/** Ids of the channels that bring a notice: those chosen for its kind, else the usual ones. */
function channelsFor({ audience, kind }: Notice, { channels, chosen, hasMail }: Wishes): string[] {
  const own = channels.filter((channel) => channel.audience === audience)
  const names = chosen.get(`${audience} ${kind}`) ?? usualChannels(audience, kind, own)
  const ids = own.filter(({ name }) => names.includes(name)).map(({ id }) => id)
  const isMailed = hasMail && audience !== operator && names.includes(email)
  return isMailed ? [...ids, mailOf(audience)] : ids
}

/** Gives new notices to their channels; false when there are none. */
export async function queueNotices(db: Db, hasMail: boolean): Promise<boolean> {
  const query = sql.selectFrom('notices').selectAll().where('queued_at', 'is', null).orderBy('row_id')
  const notices = (await db.all(query.limit(noticesAtOnce))).map(noticeOf)
  if (notices.length === 0) return false
  const wishes = await wishesOf(db, [...new Set(notices.map(({ audience }) => audience))], hasMail)
  const rows = notices.flatMap((notice) =>
    channelsFor(notice, wishes).map((channel) => ({
      notice_id: notice.id,
      channel_id: channel,
      message_id: null,
    })),
  )
  const writes: Query[] = rows.map((row) =>
    sql
      .insertInto('deliveries')
      .values(row)
      .onConflict((conflict) => conflict.columns(['notice_id', 'channel_id']).doNothing()),
  )
  const ids = notices.map(({ id }) => id)
  await db.write(...writes, sql.updateTable('notices').set({ queued_at: Date.now() }).where('id', 'in', ids))
  return true
}

/** Makes messages of what waits, for channels that have got none since `quietSince` and have none under way. */
export async function gatherMessages(db: Db, quietSince: number): Promise<void> {
  const waiting = await db.all(
    sql
      .selectFrom('deliveries')
      .select((build) => ['channel_id', build.fn.countAll<number>().as('waiting')])
      .where('message_id', 'is', null)
      .where('channel_id', 'not in', (build) =>
        build
          .selectFrom('outbox')
          .select('channel_id')
          .where((either) =>
            either.or([either('state', '=', 'queued'), either('created_at', '>', quietSince)]),
          ),
      )
      .groupBy('channel_id')
      .limit(noticesAtOnce),
  )
  for (const { channel_id: channel, waiting: count } of waiting) {
    const now = Date.now()
    const id = newId('msg')
    const row = {
      id,
      channel_id: channel,
      state: 'queued',
      attempts: 0,
      created_at: now,
      due_at: now,
    } as const
    const oldest = (most: number) =>
      sql
        .selectFrom('deliveries')
        .select('notice_id')
        .where('channel_id', '=', channel)
        .where('message_id', 'is', null)
        .orderBy('notice_id')
        .limit(most)
    const ofChannel = sql.updateTable('deliveries').set({ message_id: id }).where('channel_id', '=', channel)
    await db.write(
      ...(count > mostWaiting
        ? [
            sql
              .deleteFrom('deliveries')
              .where('channel_id', '=', channel)
              .where('notice_id', 'in', oldest(count - mostWaiting)),
          ]
        : []),
      sql.insertInto('outbox').values(row),
      ofChannel.where('notice_id', 'in', oldest(noticesPerMessage)),
    )
  }
}

export interface DueMessage {
  readonly id: string
  readonly channelId: string
  readonly attempts: number
}

/** The messages whose time has come, the longest due first. */
export async function dueMessages(db: Db, now: number, limit: number): Promise<DueMessage[]> {
  const rows = await db.all(
    sql
      .selectFrom('outbox')
      .select(['id', 'channel_id', 'attempts'])
      .where('state', '=', 'queued')
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(limit),
  )
  return rows.map((row) => ({ id: row.id, channelId: row.channel_id, attempts: row.attempts }))
}

/** The notices that a message carries, oldest first. */
export async function noticesIn(db: Db, messageId: string): Promise<Notice[]> {
  const rows = await db.all(
    sql
      .selectFrom('deliveries')
      .innerJoin('notices', 'notices.id', 'deliveries.notice_id')
      .selectAll('notices')
      .where('deliveries.message_id', '=', messageId)
      .orderBy('notices.row_id'),
  )
  return rows.map(noticeOf)
}

/** Writes down what became of an attempt; `problem` null: it was taken. */
export async function noteAttempt(
  db: Db,
  { id, attempts }: DueMessage,
  { problem, retryAfterMs }: { readonly problem: string | null; readonly retryAfterMs: number | null },
): Promise<void> {
  const now = Date.now()
  const tried = attempts + 1
  const isOver = problem === null || tried >= mostAttempts
  const end = problem === null ? 'sent' : 'failed'
  const set = {
    attempts: tried,
    state: isOver ? end : 'queued',
    last_error: problem,
    ended_at: isOver ? now : null,
    due_at: isOver ? now : now + pauseAfter(tried, retryAfterMs),
  } as const
  await db.write(sql.updateTable('outbox').set(set).where('id', '=', id))
}

const keptMs = 30 * 86_400_000

/** Messages that are over are kept for a month, to be looked at. */
export async function forgetMessages(db: Db, now: number): Promise<void> {
  const old = sql
    .selectFrom('outbox')
    .select('id')
    .where('created_at', '<', now - keptMs)
    .where('state', '!=', 'queued')
    .limit(1000)
  await db.write(
    sql.deleteFrom('deliveries').where('message_id', 'in', old),
    sql.deleteFrom('outbox').where('id', 'in', old),
  )
}
