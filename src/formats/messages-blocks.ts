/** Translates content blocks of Anthropic's format into content parts of the OpenAI format. */
import { getObject, getString, isObject, omitUndefined, type Json } from '../providers/json-fields.ts'
import { isDataUrl } from '../providers/chat-messages.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import type { ProviderCapabilities } from './provider-capabilities.ts'

/** A block and its path in the request. */
export interface LocatedBlock {
  readonly block: Json
  readonly path: string
}

/** Parses `content` or `system` into blocks; a string is a single block. Throws for anything else. */
export function parseBlocks(content: unknown, path: string): LocatedBlock[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string')
    return content === '' ? [] : [{ block: { type: 'text', text: content }, path }]
  if (!Array.isArray(content))
    throw new UnsupportedFeatureError(path, 'must be a string or an array of blocks')
  return content.map((block: unknown, index) => {
    if (!isObject(block)) throw new UnsupportedFeatureError(`${path}[${index}]`, 'must be an object')
    return { block, path: `${path}[${index}]` }
  })
}

function sourceUrl(source: Json, path: string): string {
  if (source['type'] === 'url') return getString(source, 'url') ?? ''
  if (source['type'] !== 'base64')
    throw new UnsupportedFeatureError(`${path}.source.type`, 'not supported by this provider')
  return `data:${getString(source, 'media_type') ?? ''};base64,${getString(source, 'data') ?? ''}`
}

function translateDocument(block: Json, path: string, capabilities: ProviderCapabilities): Json[] {
  const source = getObject(block, 'source') ?? {}
  const title = getString(block, 'title')
  const titled = [title, getString(block, 'context')].filter((text) => text !== undefined && text !== '')
  if (source['type'] === 'text') return [textPart([...titled, getString(source, 'data') ?? ''].join('\n\n'))]
  if (source['type'] === 'content') {
    const inner = parseBlocks(source['content'], `${path}.source.content`)
    const head = titled.length > 0 ? [textPart(titled.join('\n\n'))] : []
    return [...head, ...inner.flatMap((each) => translateBlock(each, capabilities))]
  }
  const address = sourceUrl(source, path)
  if (!isDataUrl(address) && !capabilities.fileUrl) {
    throw new UnsupportedFeatureError(`${path}.source.type`, 'must be "base64" or "text" for this provider')
  }
  return [{ type: 'file', file: { filename: title ?? 'document.pdf', file_data: address } }]
}

function textPart(text: string): Json {
  return { type: 'text', text }
}

function translateBlockContent({ block, path }: LocatedBlock, capabilities: ProviderCapabilities): Json[] {
  switch (block['type']) {
    case 'text':
      return [textPart(getString(block, 'text') ?? '')]
    case 'image':
      return [{ type: 'image_url', image_url: { url: sourceUrl(getObject(block, 'source') ?? {}, path) } }]
    case 'document':
      return translateDocument(block, path, capabilities)
    case 'search_result': {
      const found = parseBlocks(block['content'], `${path}.content`).map(({ block: each }) =>
        getString(each, 'text'),
      )
      const texts = [getString(block, 'title'), getString(block, 'source'), ...found]
      return [textPart(texts.filter((each) => each !== undefined).join('\n'))]
    }
    default:
      throw new UnsupportedFeatureError(`${path}.type`, 'not supported by this provider')
  }
}

/** Translates a block. Throws `UnsupportedFeatureError` for one that only Anthropic has. */
export function translateBlock(block: LocatedBlock, capabilities: ProviderCapabilities): Json[] {
  const parts = translateBlockContent(block, capabilities)
  const last = parts.at(-1)
  const cache = block.block['cache_control']
  if (!last || !capabilities.promptCache || cache === undefined || cache === null) return parts
  return [...parts.slice(0, -1), omitUndefined({ ...last, cache_control: cache })]
}
