/** Converts between the text of form fields and the values of the API, without changing what the user did not edit. */
import { formatDate } from '../format.ts'

/** Accepts at most nine decimals. */
export function isDecimal(text: string): boolean {
  return /^-?\d{1,12}(\.\d{1,9})?$/.test(text.trim())
}

export function isInteger(text: string): boolean {
  return /^\d{1,15}$/.test(text.trim())
}

type Body = Readonly<Record<string, unknown>>

/** The API merges these objects with the stored ones; it replaces every other object as a whole. */
const mergedObjects: ReadonlySet<string> = new Set(['caps', 'limits', 'timeouts'])

/**
 * The fields of a form that the user changed, for a PATCH: what the form does not show, or shows with less precision,
 * stays as it is. Both bodies are built from a draft, the initial and the current one.
 */
export function changedFields(before: Body, after: Body): Body {
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const old = before[name]
    if (JSON.stringify(value) === JSON.stringify(old)) return []
    return [[name, mergedObjects.has(name) ? changedFields(old as Body, value as Body) : value] as const]
  })
  return Object.fromEntries(changed)
}

/** The stored values of changed fields, for a PATCH that takes the change back. */
export function previousFields(stored: Body, changes: Body): Body {
  const previous = Object.entries(changes).map(([name, value]) => [
    name,
    mergedObjects.has(name) ? previousFields(stored[name] as Body, value as Body) : stored[name],
  ])
  return Object.fromEntries(previous) as Body
}

/** The `undo` of a toast: none where nothing was changed. */
export function undoOf(changes: Body, undo: () => Promise<unknown>): (() => Promise<unknown>) | undefined {
  return Object.keys(changes).length === 0 ? undefined : undo
}

/** null for an empty field. */
export function optionalText(text: string): string | null {
  const trimmed = text.trim()
  return trimmed === '' ? null : trimmed
}

/** null for an empty field. Other text is sent unchanged, so that the API rejects it rather than reads it as null. */
export function optionalInteger(text: string): number | string | null {
  return isInteger(text) ? Number(text) : optionalText(text)
}

/** Empty for null and for `unlimited`. */
export function integerText(value: number | string | null | undefined): string {
  return typeof value === 'number' ? String(value) : ''
}

/** The value of a date field for a time of the API. */
export function dateText(time: string | null | undefined): string {
  return typeof time === 'string' ? formatDate(Date.parse(time)) : ''
}

/** The first moment of the day in a date field. */
export function startOfDay(date: string): string {
  return new Date(`${date}T00:00:00`).toISOString()
}

/** The last second of the day in a date field; null for an empty one. */
export function endOfDay(date: string): string | null {
  return date === '' ? null : new Date(`${date}T23:59:59`).toISOString()
}

/** The names in a field, one a line or separated by commas. */
export function namesFrom(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}
