/**
 * Who wants to hear of what by which channel. The console always shows a notice; a preference names the channels that
 * bring it elsewhere as well, by kind. Where none was set, it goes to every channel that is for its kind, and to an
 * account's e-mail address; but of incidents an account hears elsewhere only when it has asked to.
 */
import { auditRow } from '../db/audit.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { refuse } from '../errors.ts'
import { checkKind, kindsFor, operator } from './notification-kinds.ts'

/** Names of channels by kind of notice. */
export type Preferences = Readonly<Record<string, readonly string[]>>

/** The channel of an account that nobody sets up. */
export const email = 'email'
const channelPattern = /^[a-z0-9][a-z0-9_-]{0,39}$/
const channelsMax = 20

/** A channel as far as it has a say in who gets what. */
interface KnownChannel {
  readonly name: string
  /** Kinds of notice; null is every kind. */
  readonly kinds: readonly string[] | null
}

/** The names of the channels for a kind of notice where none were chosen. `channels`: the audience's. */
export function usualChannels(
  audience: string,
  kind: string,
  channels: readonly KnownChannel[],
): readonly string[] {
  if (audience !== operator && kind === 'incident') return []
  const named = channels.filter(({ kinds }) => kinds?.includes(kind) ?? true).map(({ name }) => name)
  return audience === operator ? named : [email, ...named]
}

/** Of every kind that the audience gets. */
export async function preferencesOf(db: Db, audience: string): Promise<Preferences> {
  const rows = await db.all(
    sql.selectFrom('notice_preferences').select(['kind', 'channels']).where('audience', '=', audience),
  )
  const set = new Map(rows.map((row) => [row.kind, JSON.parse(row.channels) as string[]]))
  const own = await db.all(
    sql.selectFrom('channels').select(['name', 'kinds']).where('audience', '=', audience).orderBy('name'),
  )
  const channels = own.map(({ name, kinds }) => ({ name, kinds: kindsIn(kinds) }))
  return Object.fromEntries(
    kindsFor(audience).map((kind) => [kind, set.get(kind) ?? usualChannels(audience, kind, channels)]),
  )
}

/** The kinds of notice that a channel's row names. */
export function kindsIn(column: string | null): readonly string[] | null {
  return column === null ? null : (JSON.parse(column) as string[])
}

/** Sets the kinds given; the others stay. Refuses with 400 naming what is wrong. */
export async function setPreferences(
  db: Db,
  audience: string,
  patch: Preferences,
  by: string,
): Promise<Preferences> {
  const rows = Object.entries(patch).map(([kind, channels]) => ({
    audience,
    kind: checkKind(audience, kind),
    channels: JSON.stringify(cleanChannels(channels, kind)),
    updated_at: Date.now(),
  }))
  if (rows.length > 0) {
    const writes = rows.map((row) =>
      sql
        .insertInto('notice_preferences')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .columns(['audience', 'kind'])
            .doUpdateSet({ channels: row.channels, updated_at: row.updated_at }),
        ),
    )
    await db.write(...writes, auditRow(by, 'notice.preferences', audience, patch))
  }
  return preferencesOf(db, audience)
}

function cleanChannels(channels: readonly string[], param: string): string[] {
  const names = [...new Set(channels)]
  if (names.length <= channelsMax && names.every((name) => channelPattern.test(name))) return names
  throw refuse('invalid_request', {
    param,
    message: `${param} has to be a list of at most ${channelsMax} names of channels.`,
  })
}
