/** Translates the conversation of a request in Anthropic's format into messages of the OpenAI format. */
import { getString, isObject, omitUndefined, type Json } from '../providers/json-fields.ts'
import { decodeCallId } from '../providers/tool-call-ids.ts'
import { restoreThinking } from './thinking-signature.ts'
import { encodeToolResult, type EncodedToolResult } from './tool-results.ts'
import { encodeContent } from './content-pieces.ts'
import { parseBlocks, translateBlock, type LocatedBlock } from './messages-blocks.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import { fitCallId, type ProviderCapabilities } from './provider-capabilities.ts'
import { shortToolName } from './tool-names.ts'

const paragraph = '\n\n'

function translateToolResult(
  { block, path }: LocatedBlock,
  capabilities: ProviderCapabilities,
): EncodedToolResult {
  const parts = parseBlocks(block['content'], `${path}.content`).flatMap((blocks) =>
    translateBlock(blocks, capabilities),
  )
  const id = callIdFor(getString(block, 'tool_use_id'), capabilities)
  const isError = block['is_error'] === true
  return encodeToolResult(id, parts, isError ? { marked: capabilities.isTranslated } : undefined)
}

/** Tool results come first, since their calls came last. */
function translateUserTurn(blocks: readonly LocatedBlock[], capabilities: ProviderCapabilities): Json[] {
  const isToolResult = ({ block }: LocatedBlock): boolean => block['type'] === 'tool_result'
  const toolResults = blocks.filter(isToolResult).map((each) => translateToolResult(each, capabilities))
  const rest = blocks
    .filter((each) => !isToolResult(each))
    .flatMap((each) => translateBlock(each, capabilities))
  const parts = [...toolResults.flatMap(({ images }) => images), ...rest]
  const remaining = parts.length > 0 ? [{ role: 'user', content: encodeContent(parts, paragraph) }] : []
  return [...toolResults.map(({ message }) => message), ...remaining]
}

function callIdFor(id = '', capabilities: ProviderCapabilities): string {
  return fitCallId(decodeCallId(id), capabilities)
}

function translateToolUse({ block }: LocatedBlock, capabilities: ProviderCapabilities): Json {
  const called = {
    name: shortToolName(getString(block, 'name') ?? ''),
    arguments: JSON.stringify(block['input'] ?? {}),
  }
  return { id: callIdFor(getString(block, 'id'), capabilities), type: 'function', function: called }
}

function translateThinking(blocks: readonly LocatedBlock[], capabilities: ProviderCapabilities): Json {
  const thinking = blocks.map(({ block }) => ({
    text: getString(block, 'thinking') ?? '',
    signature: block['type'] === 'redacted_thinking' ? block['data'] : block['signature'],
  }))
  return restoreThinking(thinking, capabilities)
}

function translateAssistantTurn(blocks: readonly LocatedBlock[], capabilities: ProviderCapabilities): Json {
  const isThinking = ({ block }: LocatedBlock): boolean =>
    block['type'] === 'thinking' || block['type'] === 'redacted_thinking'
  const calls = blocks.filter(({ block }) => block['type'] === 'tool_use')
  const remaining = blocks.filter((each) => !isThinking(each) && each.block['type'] !== 'tool_use')
  const parts = remaining.flatMap((each) => translateBlock(each, capabilities))
  return omitUndefined({
    role: 'assistant',
    content: parts.length === 0 && calls.length > 0 ? null : encodeContent(parts, ''),
    ...translateThinking(blocks.filter(isThinking), capabilities),
    tool_calls: calls.length > 0 ? calls.map((call) => translateToolUse(call, capabilities)) : undefined,
  })
}

interface LocatedTurn {
  readonly role: unknown
  readonly path: string
  readonly blocks: LocatedBlock[]
  hasTools: boolean
}

function isOfTool({ block }: LocatedBlock): boolean {
  return block['type'] === 'tool_use' || block['type'] === 'tool_result'
}

/**
 * Parses the messages. Anthropic combines adjacent messages of one role; in the OpenAI format they are separate, but
 * all results of calls must follow the message with the calls at once.
 */
function parseTurns(messages: readonly unknown[]): LocatedTurn[] {
  const turns: LocatedTurn[] = []
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    if (!isObject(message)) throw new UnsupportedFeatureError(path, 'must be an object')
    const { role } = message
    const blocks = parseBlocks(message['content'], `${path}.content`)
    const hasTools = blocks.some(isOfTool)
    const last = turns.at(-1)
    if (last && last.role === role && (last.hasTools || hasTools)) {
      for (const block of blocks) last.blocks.push(block)
      last.hasTools = true
    } else turns.push({ role, path, blocks, hasTools })
  }
  return turns
}

/** Throws `UnsupportedFeatureError` naming the field that is invalid or not supported. */
export function translateMessages(request: Json, capabilities: ProviderCapabilities): Json[] {
  const { messages } = request
  if (!Array.isArray(messages)) throw new UnsupportedFeatureError('messages', 'must be an array')
  return parseTurns(messages).flatMap(({ role, path, blocks }) => {
    switch (role) {
      case 'user':
        return translateUserTurn(blocks, capabilities)
      case 'assistant':
        return [translateAssistantTurn(blocks, capabilities)]
      case 'system': {
        const parts = blocks.flatMap((each) => translateBlock(each, capabilities))
        return [{ role: 'system', content: encodeContent(parts, paragraph) }]
      }
      default:
        throw new UnsupportedFeatureError(`${path}.role`, 'must be "user" or "assistant"')
    }
  })
}
