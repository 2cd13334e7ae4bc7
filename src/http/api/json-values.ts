/** How times, amounts, limits, spend and cursors are encoded in JSON. */
import { limitNames, type LimitName, type OwnLimits } from '../../accounts/limits.ts'
import { apiError } from '../../errors.ts'
import { formatAmount, parseAmount } from '../../lib/money.ts'
import { isValidText } from '../../lib/valid-text.ts'
import { noSpend, type KeySpend } from '../../usage/key-spend.ts'

/** Parses a validated RFC 3339 time to milliseconds since the epoch. */
export function parseTime(text: string): number
export function parseTime(text: string | undefined): number | undefined
export function parseTime(text: string | null | undefined): number | null | undefined
export function parseTime(text: string | null | undefined): number | null | undefined {
  return text === undefined || text === null ? text : Date.parse(text)
}

export function formatTime(ms: number): string
export function formatTime(ms: number | null): string | null
export function formatTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** Parses an optional decimal string to nanos. Throws 400 with `param` if it is invalid. */
export function parseOptionalAmount(
  text: string | null | undefined,
  param: string,
): bigint | null | undefined {
  return text === undefined || text === null ? text : parseAmount(text, param)
}

export function formatOptionalAmount(nanos: bigint | null): string | null {
  return nanos === null ? null : formatAmount(nanos)
}

export function serializeSpent({ todayNanos, monthNanos, totalNanos }: KeySpend = noSpend) {
  return { today: formatAmount(todayNanos), month: formatAmount(monthNanos), total: formatAmount(totalNanos) }
}

export function serializeLimits(own: OwnLimits): Record<LimitName, number | 'unlimited' | null> {
  const [rpm, tpm, rpd, concurrency] = limitNames.map((name) => own[name] ?? null)
  return { rpm: rpm ?? null, tpm: tpm ?? null, rpd: rpd ?? null, concurrency: concurrency ?? null }
}

/** Encodes a position as an opaque cursor. */
export function encodeCursor(position: string | null): string | null {
  return position === null ? null : Buffer.from(position).toString('base64url')
}

/** Decodes a cursor. Throws 400 if it is not a cursor of this list. */
export function decodeCursor(cursor: string | undefined, pattern: RegExp): string | undefined {
  if (cursor === undefined) return undefined
  const position = Buffer.from(cursor, 'base64url').toString()
  if (pattern.test(position) && isValidText(position)) return position
  throw apiError('invalid_request', {
    param: 'cursor',
    message: 'Invalid `cursor`: not a cursor of this list.',
  })
}
