/**
 * A strict JSON scanner that builds no values. It finds the byte ranges of the members of the outermost object, so that
 * a body can be patched in place and otherwise forwarded byte for byte. Text that two parsers could read differently is
 * reported as `uncertain`.
 */
import { isUtf8 } from 'node:buffer'
import { JsonCursor, MalformedJsonError } from './json-cursor.ts'

/** One member of an object: its unescaped key and its byte ranges (ends are exclusive). */
export interface JsonMember {
  readonly key: string
  /** The offset of the key's opening quote. */
  readonly keyStart: number
  /** The offset of the value's first byte. */
  readonly start: number
  readonly end: number
}

/** Why a text that may be valid must be parsed in full, or rejected. */
export type JsonUncertainty =
  | 'byte order mark'
  | 'duplicate key'
  | 'escape in a key'
  | 'too deep'
  | 'too many members'

/**
 * The result of a scan. `object`: `JSON.parse` accepts the text, and the ranges hold the members' values.
 * `uncertain`: parsers may read it differently; if the keys are the reason, the text is valid and `members` lists all
 * members, repeated keys included. `invalid`: `JSON.parse` rejects the text, at this byte or before its end; text that
 * is not UTF-8 is invalid too. `other`: valid, but not an object.
 */
export type JsonScanResult =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'uncertain'; readonly why: JsonUncertainty; readonly members?: readonly JsonMember[] }
  | { readonly kind: 'invalid'; readonly at: number }
  | { readonly kind: 'other' }

/** Reads selected values during the scan. */
export interface JsonValueVisitor {
  /** The cursor is at the value of `key`: consume exactly that value, or leave the cursor where it is. */
  visit(key: string, cursor: JsonCursor): void
}

/** The maximum number of members of the outermost object. */
export const maxObjectMembers = 1024

/** Scans the outermost object of `text`. The whole text is validated, including nested values and UTF-8. */
export function scanJsonObject(text: Buffer, visitor?: JsonValueVisitor): JsonScanResult {
  if (!isUtf8(text)) return { kind: 'invalid', at: 0 }
  if (text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf) {
    return { kind: 'uncertain', why: 'byte order mark' }
  }
  const cursor = new JsonCursor(text)
  try {
    if (cursor.skipSpace() === 0x7b) return scanMembers(cursor, visitor)
    cursor.skipValue()
    return cursor.skipSpace() === -1 ? { kind: 'other' } : { kind: 'invalid', at: cursor.at }
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    return error.tooDeep ? { kind: 'uncertain', why: 'too deep' } : { kind: 'invalid', at: error.at }
  }
}

function scanMembers(cursor: JsonCursor, visitor?: JsonValueVisitor): JsonScanResult {
  const members: JsonMember[] = []
  const keys = new Set<string>()
  let why: JsonUncertainty | undefined
  for (let hasMember = cursor.enterObject(); hasMember; hasMember = cursor.nextMember()) {
    if (members.length === maxObjectMembers) return { kind: 'uncertain', why: 'too many members' }
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
