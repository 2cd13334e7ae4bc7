/**
 * A strict scan of a JSON text that builds no values.
 * It tells where the members of the outermost object lie, so that a body can be changed in place and passed on
 * otherwise byte for byte; whatever two readers might understand differently is `uncertain`, never guessed.
 */
import { isUtf8 } from 'node:buffer'
import { JsonCursor, Malformed } from './json-cursor.ts'

/** One member of an object: `key` decoded, and where its parts lie in the bytes (ends are exclusive). */
export interface JsonMember {
  readonly key: string
  /** Where the key's opening quote is. */
  readonly keyStart: number
  /** Where the value's first byte is. */
  readonly start: number
  readonly end: number
}

/** Why a text that may well be valid has to be read in full, or refused. */
export type Uncertainty =
  | 'byte order mark'
  | 'duplicate key'
  | 'escape in a key'
  | 'too deep'
  | 'too many members'

/**
 * What a scan found. `object`: `JSON.parse` accepts the text and the ranges hold the members' values.
 * `uncertain`: readers may differ about it; where the keys are the reason, it is valid, and the members tell all
 * that was found, a key more than once where it is written so. `invalid`: `JSON.parse` refuses it, at this byte or before
 * the text's end; text that is not UTF-8 is invalid too. `other`: valid, but not an object.
 */
export type JsonScan =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'uncertain'; readonly why: Uncertainty; readonly members?: readonly JsonMember[] }
  | { readonly kind: 'invalid'; readonly at: number }
  | { readonly kind: 'other' }

/** Looks at chosen values while the scan passes them. */
export interface JsonVisitor {
  /** The cursor stands on the value of `key`: consume exactly that value, or leave the cursor where it is. */
  visit(key: string, cursor: JsonCursor): void
}

/** Members of the outermost object. */
export const maxMembers = 1024

/** Scans the outermost object of `text`; all of the text is checked in full, nested values too, and its UTF-8. */
export function scanObject(text: Buffer, visitor?: JsonVisitor): JsonScan {
  if (!isUtf8(text)) return { kind: 'invalid', at: 0 }
  if (text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf) {
    return { kind: 'uncertain', why: 'byte order mark' }
  }
  const cursor = new JsonCursor(text)
  try {
    if (cursor.skipSpace() === 0x7b) return objectAt(cursor, visitor)
    cursor.skipValue()
    return cursor.skipSpace() === -1 ? { kind: 'other' } : { kind: 'invalid', at: cursor.at }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return error.tooDeep ? { kind: 'uncertain', why: 'too deep' } : { kind: 'invalid', at: error.at }
  }
}

function objectAt(cursor: JsonCursor, visitor?: JsonVisitor): JsonScan {
  const members: JsonMember[] = []
  const keys = new Set<string>()
  let why: Uncertainty | undefined
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    if (members.length === maxMembers) return { kind: 'uncertain', why: 'too many members' }
    const keyStart = cursor.at
    cursor.readKey()
    const { key } = cursor
    if (cursor.keyEscaped) why ??= 'escape in a key'
    if (keys.has(key)) why ??= 'duplicate key'
    keys.add(key)
    const start = cursor.at
    visitor?.visit(key, cursor)
    if (cursor.at === start) cursor.skipValue()
    members.push({ key, keyStart, start, end: cursor.at })
  }
  if (cursor.skipSpace() !== -1) return { kind: 'invalid', at: cursor.at }
  return why === undefined ? { kind: 'object', members } : { kind: 'uncertain', why, members }
}
