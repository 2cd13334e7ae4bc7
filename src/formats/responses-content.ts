/** Translates the content of Responses items into content parts of the OpenAI format. */
import { getObject, getString, isObject, omitUndefined, type Json } from '../providers/json-fields.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import type { ProviderCapabilities } from './provider-capabilities.ts'

function textPart(text: string): Json {
  return { type: 'text', text }
}

function rejectFileId(part: Json, path: string): void {
  if (getString(part, 'file_id') !== undefined)
    throw new UnsupportedFeatureError(`${path}.file_id`, 'not supported: send the data itself')
}

function translateImage(part: Json, path: string): Json {
  rejectFileId(part, path)
  const url = getString(part, 'image_url')
  if (url === undefined)
    throw new UnsupportedFeatureError(`${path}.image_url`, 'must be a URL, or a data URL')
  return { type: 'image_url', image_url: omitUndefined({ url, detail: getString(part, 'detail') }) }
}

function translateFile(part: Json, path: string, { fileUrl }: ProviderCapabilities): Json {
  rejectFileId(part, path)
  const url = getString(part, 'file_url')
  if (url !== undefined && !fileUrl)
    throw new UnsupportedFeatureError(`${path}.file_url`, 'not supported by this provider: use `file_data`')
  const data = getString(part, 'file_data') ?? url
  if (data === undefined) throw new UnsupportedFeatureError(`${path}.file_data`, 'must be a data URL')
  return { type: 'file', file: { filename: getString(part, 'filename') ?? 'document.pdf', file_data: data } }
}

function translatePart(part: unknown, path: string, capabilities: ProviderCapabilities): Json {
  if (!isObject(part)) throw new UnsupportedFeatureError(path, 'must be an object')
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textPart(getString(part, 'text') ?? '')
    case 'refusal':
      return textPart(getString(part, 'refusal') ?? '')
    case 'input_image':
      return translateImage(part, path)
    case 'input_file':
      return translateFile(part, path, capabilities)
    case 'input_audio':
      return { type: 'input_audio', input_audio: getObject(part, 'input_audio') ?? {} }
    default:
      throw new UnsupportedFeatureError(`${path}.type`, 'not supported by this provider')
  }
}

/** The parts of `content` or `output`: a string, or an array of parts. Throws `UnsupportedFeatureError`. */
export function translateParts(content: unknown, path: string, capabilities: ProviderCapabilities): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  if (!Array.isArray(content))
    throw new UnsupportedFeatureError(path, 'must be a string or an array of parts')
  return content.map((part, index) => translatePart(part, `${path}[${index}]`, capabilities))
}
