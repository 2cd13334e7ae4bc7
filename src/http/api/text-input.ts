/** Rejects text that not every store can keep unchanged, in everything that an endpoint gets as input. */
import { apiError } from '../../errors.ts'
import { escapeInvalidText, isValidText, toBoundedText } from '../../lib/valid-text.ts'
import { formatPath } from './thrown-errors.ts'

/** A value inside the input, linked to the one that contains it. */
interface Field {
  readonly value: unknown
  readonly key?: string | number
  readonly parent?: Field
}

function childrenOf(parent: Field): Field[] {
  const { value } = parent
  if (Array.isArray(value)) return value.map((child: unknown, key) => ({ value: child, key, parent }))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).map(([key, child]: [string, unknown]) => ({ value: child, key, parent }))
}

function hasInvalidText({ value, key }: Field): boolean {
  return (typeof value === 'string' && !isValidText(value)) || (typeof key === 'string' && !isValidText(key))
}

/** Not recursive, because the fields of a passkey may be nested to any depth. */
function findInvalidText(input: unknown): Field | undefined {
  const pending: Field[] = [{ value: input }]
  for (let field = pending.pop(); field !== undefined; field = pending.pop()) {
    if (hasInvalidText(field)) return field
    for (const child of childrenOf(field).toReversed()) pending.push(child)
  }
  return undefined
}

const maxPathLength = 200

/** Throws 400 with the field of the first text, or name of a field, that is not valid text. */
export function requireValidText(input: unknown): void {
  const found = findInvalidText(input)
  if (found === undefined) return
  const path: (string | number)[] = []
  for (let field: Field | undefined = found; field?.key !== undefined; field = field.parent)
    path.push(typeof field.key === 'string' ? escapeInvalidText(field.key) : field.key)
  const param = toBoundedText(formatPath(path.toReversed().slice(0, maxPathLength)), maxPathLength)
  throw apiError('invalid_request', {
    param,
    message: `Invalid \`${param}\`: must be well-formed Unicode without U+0000.`,
  })
}
