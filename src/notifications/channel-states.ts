/** The status of channels: last delivery, queue and current problem. */
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

/** The status of a channel. */
export interface ChannelState {
  readonly lastSentAt: number | null
  /** Notifications that wait for the next message. */
  readonly waiting: number
  /** The error of the newest message until it is accepted. */
  readonly problem: string | null
}

export async function channelStates(db: Db, ids: readonly string[]): Promise<Map<string, ChannelState>> {
  if (ids.length === 0) return new Map()
  const [sent, waiting, newest] = await Promise.all([
    db.all(
      sql
        .selectFrom('outbox')
        .select((build) => ['channel_id', build.fn.max('ended_at').as('sent_at')])
        .where('state', '=', 'sent')
        .where('channel_id', 'in', ids)
        .groupBy('channel_id'),
    ),
    db.all(
      sql
        .selectFrom('deliveries')
        .select((build) => ['channel_id', build.fn.countAll<number>().as('waiting')])
        .where('message_id', 'is', null)
        .where('channel_id', 'in', ids)
        .groupBy('channel_id'),
    ),
    db.all(
      sql
        .selectFrom('outbox')
        .select(['channel_id', 'last_error', 'state'])
        .where('channel_id', 'in', ids)
        .where('id', 'in', (build) =>
          build
            .selectFrom('outbox as last')
            .select((pick) => pick.fn.max('last.id').as('id'))
            .groupBy('last.channel_id'),
        ),
    ),
  ])
  return new Map(
    ids.map((id) => {
      const last = newest.find((row) => row.channel_id === id)
      return [
        id,
        {
          lastSentAt: sent.find((row) => row.channel_id === id)?.sent_at ?? null,
          waiting: waiting.find((row) => row.channel_id === id)?.waiting ?? 0,
          problem: last === undefined || last.state === 'sent' ? null : last.last_error,
        },
      ]
    }),
  )
}
