/**
 * Journal rows of earlier releases may have text that is not valid (`lib/valid-text.ts`): in the id or the reason of
 * a credit. The journal keeps it as a JSON escape, but the columns of the entries have U+FFFD in its place, so the two
 * differ.
 */
import { toValidText } from '../lib/valid-text.ts'

/** A text of an event that is not valid. */
export interface TextChange {
  /** The id of the event, as it is after the change. */
  readonly ref: string
  readonly field: string
  readonly before: string
  readonly after: string
}

/** The escapes that `JSON.stringify` uses for such text. Rows without them, which are nearly all, are not parsed. */
const invalidEscapes = /\\u(?:d[89a-f]|0000)/i
/** The position of a cell in its event (journal.ts). */
const fieldNames: Readonly<Record<number, string>> = { 1: 'id', 3: 'account', 6: 'reason' }

/** The body with valid text and what was changed, or null if all its text is valid. Amounts and times stay. */
export function makeTextValid(body: string): { body: string; changes: TextChange[] } | null {
  if (!invalidEscapes.test(body)) return null
  const events = JSON.parse(body) as unknown[][]
  const changes: TextChange[] = []
  const valid = events.map((cells) => {
    const ref = toValidText(String(cells[1]))
    return cells.map((cell, index) => {
      if (typeof cell !== 'string') return cell
      const after = toValidText(cell)
      if (after !== cell)
        changes.push({ ref, field: fieldNames[index] ?? `cell ${index}`, before: cell, after })
      return after
    })
  })
  return changes.length === 0 ? null : { body: JSON.stringify(valid), changes }
}
