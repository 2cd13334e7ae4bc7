/**
 * The outbox: from a notification to delivered messages. Each notification is queued once per channel;
 * whatever waits for a channel is combined into one message; a message is retried under the same id until it
 * is accepted or too old. Each step is one batch, so that a crash loses and duplicates nothing, except a
 * message that was accepted at the very moment of the crash: it is sent again with the same id.
 */
import { fieldsOf, type RowFields } from '../db/row-fields.ts'
import type { Db, Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import type { OutboxTable } from '../db/schema/tables/notifications.ts'
import { newId } from '../lib/ids.ts'
import { channelOf, type Channel } from './channels.ts'
import { operatorAudience } from './notification-kinds.ts'
import { notificationOf, type Notification } from './notifications.ts'
import { emailChannel, defaultChannels } from './preferences.ts'

/** Maximum number of notifications in a message. The rest goes into the next one. */
export const notificationsPerMessage = 100
const batchSize = 200
/** Per channel; the oldest are dropped. A receiver that accepts nothing must not fill the disk. */
const maxWaiting = 1000

/** With a backoff of 10 s, 20 s, 40 s … up to an hour, a message is given up after about eight hours. */
export const maxAttempts = 16
const initialBackoffMs = 10_000
const maxBackoffMs = 3_600_000

/** The channel id of an account's e-mail address: `email:acc_…`. */
export const emailChannelId = (account: string): string => `email:${account}`

export function accountOfEmailChannel(channelId: string): string | null {
  return channelId.startsWith('email:') ? channelId.slice('email:'.length) : null
}

/** How long to wait after this many failed attempts. */
export function backoffMs(attempts: number, retryAfterMs: number | null): number {
  const exponentialMs = Math.min(maxBackoffMs, initialBackoffMs * 2 ** (attempts - 1))
  return Math.min(maxBackoffMs, Math.max(exponentialMs, retryAfterMs ?? 0))
}

interface ChannelSelection {
  readonly channels: readonly Channel[]
  /** `audience kind` → names of the chosen channels. Absent where nobody chose. */
  readonly chosen: ReadonlyMap<string, readonly string[]>
  readonly hasMailServer: boolean
}

async function loadChannelSelection(
  db: Db,
  audiences: readonly string[],
  hasMailServer: boolean,
): Promise<ChannelSelection> {
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
    hasMailServer,
  }
}

/** Ids of the channels for a notification: those chosen for its kind, otherwise the defaults. */
function channelsFor(
  { audience, kind }: Notification,
  { channels, chosen, hasMailServer }: ChannelSelection,
): string[] {
  const own = channels.filter((channel) => channel.audience === audience)
  const names = chosen.get(`${audience} ${kind}`) ?? defaultChannels(audience, kind, own)
  const ids = own.filter(({ name }) => names.includes(name)).map(({ id }) => id)
  const isEmailed = hasMailServer && audience !== operatorAudience && names.includes(emailChannel)
  return isEmailed ? [...ids, emailChannelId(audience)] : ids
}

/** Queues new notifications for their channels. Returns false if there are none. */
export async function queueNotifications(db: Db, hasMailServer: boolean): Promise<boolean> {
  const query = sql.selectFrom('notices').selectAll().where('queued_at', 'is', null).orderBy('row_id')
  const notifications = (await db.all(query.limit(batchSize))).map(notificationOf)
  if (notifications.length === 0) return false
  const selection = await loadChannelSelection(
    db,
    [...new Set(notifications.map(({ audience }) => audience))],
    hasMailServer,
  )
  const rows = notifications.flatMap((notification) =>
    channelsFor(notification, selection).map((channel) => ({
      notice_id: notification.id,
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
  const ids = notifications.map(({ id }) => id)
  await db.write(...writes, sql.updateTable('notices').set({ queued_at: Date.now() }).where('id', 'in', ids))
  return true
}

/** Creates messages from what is queued, for channels without a message in progress or since `quietSince`. */
export async function createMessages(db: Db, quietSince: number): Promise<void> {
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
      .limit(batchSize),
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
    const oldest = (limit: number) =>
      sql
        .selectFrom('deliveries')
        .select('notice_id')
        .where('channel_id', '=', channel)
        .where('message_id', 'is', null)
        .orderBy('notice_id')
        .limit(limit)
    const ofChannel = sql.updateTable('deliveries').set({ message_id: id }).where('channel_id', '=', channel)
    await db.write(
      ...(count > maxWaiting
        ? [
            sql
              .deleteFrom('deliveries')
              .where('channel_id', '=', channel)
              .where('notice_id', 'in', oldest(count - maxWaiting)),
          ]
        : []),
      sql.insertInto('outbox').values(row),
      ofChannel.where('notice_id', 'in', oldest(notificationsPerMessage)),
    )
  }
}

export type DueMessage = Pick<RowFields<OutboxTable>, 'id' | 'channelId' | 'attempts'>

/** The messages that are due, the longest overdue first. */
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
  return rows.map(fieldsOf)
}

/** The notifications in a message, oldest first. */
export async function notificationsInMessage(db: Db, messageId: string): Promise<Notification[]> {
  const rows = await db.all(
    sql
      .selectFrom('deliveries')
      .innerJoin('notices', 'notices.id', 'deliveries.notice_id')
      .selectAll('notices')
      .where('deliveries.message_id', '=', messageId)
      .orderBy('notices.row_id'),
  )
  return rows.map(notificationOf)
}

/** Records the result of an attempt. `problem` is null if the message was accepted. */
export async function recordAttempt(
  db: Db,
  { id, attempts }: DueMessage,
  { problem, retryAfterMs }: { readonly problem: string | null; readonly retryAfterMs: number | null },
): Promise<void> {
  const now = Date.now()
  const attemptCount = attempts + 1
  const isOver = problem === null || attemptCount >= maxAttempts
  const end = problem === null ? 'sent' : 'failed'
  const set = {
    attempts: attemptCount,
    state: isOver ? end : 'queued',
    last_error: problem,
    ended_at: isOver ? now : null,
    due_at: isOver ? now : now + backoffMs(attemptCount, retryAfterMs),
  } as const
  await db.write(sql.updateTable('outbox').set(set).where('id', '=', id))
}

const retentionMs = 30 * 86_400_000

/** Completed messages are kept for a month for inspection. */
export async function deleteOldMessages(db: Db, now: number): Promise<void> {
  const old = sql
    .selectFrom('outbox')
    .select('id')
    .where('created_at', '<', now - retentionMs)
    .where('state', '!=', 'queued')
    .limit(1000)
  await db.write(
    sql.deleteFrom('deliveries').where('message_id', 'in', old),
    sql.deleteFrom('outbox').where('id', 'in', old),
  )
}
