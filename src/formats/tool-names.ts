/**
 * Names of tools: Anthropic allows 128 characters, OpenAI and others 64 (Anthropic, "Define tools"; OpenAI, "Create chat
 * completion"). Longer names are shortened for the provider and restored in its responses.
 */
import { createHash } from 'node:crypto'
import { getObjects, getString, type Json } from '../providers/json-fields.ts'

const maxLength = 64
const hashLength = 8

/** The name as the provider gets it: its beginning and a hash of the whole, if it is too long. */
export function shortToolName(name: string): string {
  if (name.length <= maxLength) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  return `${name.slice(0, maxLength - hashLength - 1)}_${hash}`
}

/** The caller's name of a shortened one, from the tools of its request. */
export function originalToolName(name: string, request: Json): string {
  if (name.length < maxLength) return name
  const names = getObjects(request, 'tools').map((tool) => getString(tool, 'name') ?? '')
  return names.find((each) => shortToolName(each) === name) ?? name
}
