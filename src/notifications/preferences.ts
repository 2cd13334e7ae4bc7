/**
 * Preferences: which kinds of notification are delivered by which channels. The console always shows all
 * notifications. Without a preference, a notification goes to every channel for its kind and to the account's
 * e-mail address, except that accounts must opt in to incidents.
 */
import { auditStatement } from '../db/audit.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { invalidField } from '../errors.ts'
import { checkKind, kindsFor, operatorAudience } from './notification-kinds.ts'

/** Names of channels by kind of notification. */
export type Preferences = Readonly<Record<string, readonly string[]>>

/** An account's e-mail address, a channel that needs no configuration. */
export const emailChannel = 'email'
const channelPattern = /^[a-z0-9][a-z0-9_-]{0,39}$/
const maxChannels = 20

/** The part of a channel that preferences depend on. */
interface ChannelKinds {
  readonly name: string
  /** Kinds of notification. null: every kind. */
  readonly kinds: readonly string[] | null
}

/** The default channels for a kind of notification. `channels` are those of the audience. */
export function defaultChannels(
  audience: string,
  kind: string,
  channels: readonly ChannelKinds[],
): readonly string[] {
  if (audience !== operatorAudience && kind === 'incident') return []
  const matching = channels.filter(({ kinds }) => kinds?.includes(kind) ?? true).map(({ name }) => name)
  return audience === operatorAudience ? matching : [emailChannel, ...matching]
}

/** For every kind that the audience receives. */
export async function preferencesOf(db: Db, audience: string): Promise<Preferences> {
  const rows = await db.all(
    sql.selectFrom('notice_preferences').select(['kind', 'channels']).where('audience', '=', audience),
  )
  const chosen = new Map(rows.map((row) => [row.kind, JSON.parse(row.channels) as string[]]))
  const rowsOfAudience = await db.all(
    sql.selectFrom('channels').select(['name', 'kinds']).where('audience', '=', audience).orderBy('name'),
  )
  const channels = rowsOfAudience.map(({ name, kinds }) => ({ name, kinds: parseKinds(kinds) }))
  return Object.fromEntries(
    kindsFor(audience).map((kind) => [kind, chosen.get(kind) ?? defaultChannels(audience, kind, channels)]),
  )
}

/** The kinds of notification in a channel's row. */
export function parseKinds(column: string | null): readonly string[] | null {
  return column === null ? null : (JSON.parse(column) as string[])
}

/** Sets the given kinds; the others stay unchanged. Throws 400 naming the invalid field. */
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
    await db.write(...writes, auditStatement(by, 'notice.preferences', audience, patch))
  }
  return preferencesOf(db, audience)
}

function cleanChannels(channels: readonly string[], param: string): string[] {
  const names = [...new Set(channels)]
  if (names.length <= maxChannels && names.every((name) => channelPattern.test(name))) return names
  throw invalidField(param, `must be a list of at most ${maxChannels} channel names`)
}
