/** Content blocks of Anthropic's format as parts of the common one. */
import { objectIn, present, textIn, type Json } from '../providers/json-fields.ts'
import { Inexpressible } from '../providers/provider.ts'
import { isObject } from '../providers/usage.ts'
import type { Taste } from './provider-tastes.ts'

/** A block and where it stands in the request. */
export interface Placed {
  readonly block: Json
  readonly at: string
}

export function wrong(at: string, words: string): Inexpressible {
  return new Inexpressible(at, `${at} ${words}.`)
}

/** The blocks of `content` or `system`: a text alone is one block. Throws for what is neither. */
export function blocksIn(content: unknown, at: string): Placed[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string')
    return content === '' ? [] : [{ block: { type: 'text', text: content }, at }]
  if (!Array.isArray(content)) throw wrong(at, 'has to be a string or a list of blocks')
  return content.map((block: unknown, index) => {
    if (!isObject(block)) throw wrong(`${at}[${index}]`, 'has to be an object')
    return { block, at: `${at}[${index}]` }
  })
}

function addressOf(source: Json, at: string): string {
  if (source['type'] === 'url') return textIn(source, 'url') ?? ''
  if (source['type'] !== 'base64') throw wrong(`${at}.source.type`, 'is none that this provider can be sent')
  return `data:${textIn(source, 'media_type') ?? ''};base64,${textIn(source, 'data') ?? ''}`
}

function documentParts(block: Json, at: string, taste: Taste): Json[] {
  const source = objectIn(block, 'source') ?? {}
  const title = textIn(block, 'title')
  const titled = [title, textIn(block, 'context')].filter((text) => text !== undefined && text !== '')
  if (source['type'] === 'text') return [textPart([...titled, textIn(source, 'data') ?? ''].join('\n\n'))]
  if (source['type'] === 'content') {
    const inner = blocksIn(source['content'], `${at}.source.content`)
    const head = titled.length > 0 ? [textPart(titled.join('\n\n'))] : []
    return [...head, ...inner.flatMap((each) => partsOf(each, taste))]
  }
  const address = addressOf(source, at)
  if (!address.startsWith('data:') && !taste.fileUrl) {
    throw wrong(`${at}.source.type`, 'can only be "base64" or "text" for this provider')
  }
  return [{ type: 'file', file: { filename: title ?? 'document.pdf', file_data: address } }]
}

function textPart(text: string): Json {
  return { type: 'text', text }
}

function partsWithoutCache({ block, at }: Placed, taste: Taste): Json[] {
  switch (block['type']) {
    case 'text':
      return [textPart(textIn(block, 'text') ?? '')]
    case 'image':
      return [{ type: 'image_url', image_url: { url: addressOf(objectIn(block, 'source') ?? {}, at) } }]
    case 'document':
      return documentParts(block, at, taste)
    case 'search_result': {
      const found = blocksIn(block['content'], `${at}.content`).map(({ block: each }) => textIn(each, 'text'))
      const words = [textIn(block, 'title'), textIn(block, 'source'), ...found]
      return [textPart(words.filter((each) => each !== undefined).join('\n'))]
    }
    default:
      throw wrong(`${at}.type`, 'is none that this provider can be sent')
  }
}

/** The parts that a block becomes. Throws `Inexpressible` for one that only Anthropic knows. */
export function partsOf(placed: Placed, taste: Taste): Json[] {
  const parts = partsWithoutCache(placed, taste)
  const last = parts.at(-1)
  const cache = placed.block['cache_control']
  if (!last || !taste.cache || cache === undefined || cache === null) return parts
  return [...parts.slice(0, -1), present({ ...last, cache_control: cache })]
}

/** Text alone is told as a string, which every provider takes. */
export function contentOf(parts: readonly Json[], between: string): unknown {
  const areWords = parts.every((part) => part['type'] === 'text' && part['cache_control'] === undefined)
  return areWords ? parts.map((part) => textIn(part, 'text') ?? '').join(between) : parts
}
