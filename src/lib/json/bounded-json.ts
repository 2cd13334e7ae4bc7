/**
 * Parses JSON of an upstream, which may be nested without bound. JSON.parse reads any depth, but whatever walks the
 * value afterwards, such as JSON.stringify, recurses and would overflow the stack far away from here.
 */
import { maxDepth, MalformedJsonError } from './json-cursor.ts'

const quote = 0x22
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Throws SyntaxError, or {@link MalformedJsonError} if the text is nested more than `maxDepth` levels deep. */
export function parseBoundedJson(text: string): unknown {
  if (text.length > maxDepth && mayBeTooDeep(text)) assertDepth(text)
  const value: unknown = JSON.parse(text)
  return value
}

/** Does it have more opening brackets than levels are allowed? Most texts have few, and a search is fast. */
function mayBeTooDeep(text: string): boolean {
  let remaining = maxDepth
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (remaining-- === 0) return true
  }
  return false
}

function assertDepth(text: string): void {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = stringEnd(text, at)
    else if (code === openBracket || code === openBrace) depth += 1
    else if (code === closeBracket || code === closeBrace) depth -= 1
    if (depth > maxDepth) throw new MalformedJsonError(at, true)
  }
}

/** The offset of the closing quote, or the end of the text. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  for (let code = text.charCodeAt(at); at < text.length && code !== quote; code = text.charCodeAt(at))
    at += code === backslash ? 2 : 1
  return at
}
