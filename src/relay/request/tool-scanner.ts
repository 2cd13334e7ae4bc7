/** Scans `tools` in the same pass as the body, for those that are no functions of the caller's. */
import type { JsonCursor } from '../../lib/json/json-cursor.ts'

const openBrace = 0x7b
const openBracket = 0x5b
const quote = 0x22

/** A tool that is no plain function. */
export interface ToolSpan {
  /** Its position in `tools`. */
  readonly index: number
  readonly start: number
  readonly end: number
}

/** The types of functions that the caller runs, as they are in the body. */
const functionTypes: readonly Buffer[] = ['"function"', '"custom"'].map((type) => Buffer.from(type))

/** The cursor is at the value of `tools`, which is consumed. The usual result is `undefined`: only functions. */
export function scanTools(cursor: JsonCursor): ToolSpan[] | undefined {
  if (cursor.text[cursor.at] !== openBracket) return undefined
  let others: ToolSpan[] | undefined
  let index = 0
  for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
    const start = cursor.at
    if (!scanTool(cursor)) (others ??= []).push({ index, start, end: cursor.at })
    index++
  }
  return others
}

/** True for a function, or for what is no tool. */
function scanTool(cursor: JsonCursor): boolean {
  if (cursor.text[cursor.at] !== openBrace) {
    cursor.skipValue()
    return true
  }
  let isOther = false
  let isFunction = false
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    cursor.readKey()
    const isType = isTypeKey(cursor)
    if (cursor.isKey('function') || cursor.isKey('name')) isFunction = true
    const start = cursor.at
    cursor.skipValue()
    if (!isType || cursor.text[start] === 0x6e) continue
    if (cursor.text[start] === quote && functionTypes.some((type) => equals(cursor, start, type)))
      isFunction = true
    else isOther = true
  }
  return isFunction && !isOther
}

function equals({ text, at }: JsonCursor, start: number, expected: Buffer): boolean {
  return at - start === expected.length && text.compare(expected, 0, expected.length, start, at) === 0
}

/** Some parsers ignore the case of keys. */
function isTypeKey(cursor: JsonCursor): boolean {
  if (cursor.isKey('type')) return true
  const mayBe = cursor.keyEscaped || cursor.keyEnd - cursor.keyStart === 'type'.length
  return mayBe && cursor.key.toLowerCase() === 'type'
}
