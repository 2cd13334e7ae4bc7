/** Translates responses and streams of Amazon Bedrock's Converse API into the OpenAI format. */
import { encodeInput } from '../chat-response.ts'
import { encodeArguments } from '../tool-call-pieces.ts'
import {
  getCount,
  hasAnyCount,
  getNumber,
  getObject,
  getObjects,
  getString,
  type Json,
  lookup,
} from '../json-fields.ts'
import { bedrockReasons } from '../finish-reasons.ts'
import { bedrockNames } from '../provider-names.ts'
import { bedrockFormat } from '../reasoning-details.ts'
import { createTranslation, ResponseReader } from '../response-translation.ts'
import { createUsage, type TokenUsage } from '../usage.ts'
import { mergeUsage } from '../usage-counts.ts'

/** The names of the first releases end with `Count`. */
function cacheCount(usage: Json, name: string): number {
  return Math.max(getCount(usage, name), getCount(usage, `${name.replace(/s$/, '')}Count`))
}

/** Tokens read from and written to the cache are not part of `inputTokens`. */
function parseBedrockUsage(usage: Json | undefined): TokenUsage | null {
  if (!usage || !hasAnyCount(usage, 'inputTokens', 'outputTokens')) return null
  const cachedInput = cacheCount(usage, 'cacheReadInputTokens')
  const lifetimes = getObjects(usage, 'cacheDetails')
  const written = (each: readonly Json[]): number =>
    each.reduce((sum, lifetime) => sum + getCount(lifetime, 'inputTokens'), 0)
  const cacheWrite = Math.max(cacheCount(usage, 'cacheWriteInputTokens'), written(lifetimes))
  return createUsage({
    input: getCount(usage, 'inputTokens') + cachedInput + cacheWrite,
    cachedInput,
    cacheWrite,
    cacheWrite1h: written(lifetimes.filter(({ ttl }) => ttl === '1h')),
    output: getCount(usage, 'outputTokens'),
  })
}

/** The HTTP status of an exception inside a stream. */
const statuses: Readonly<Record<string, number>> = {
  validationException: 400,
  accessDeniedException: 403,
  resourceNotFoundException: 404,
  throttlingException: 429,
  modelStreamErrorException: 424,
  modelTimeoutException: 408,
  internalServerException: 500,
  serviceUnavailableException: 503,
}

class BedrockReader extends ResponseReader {
  #usage: Json | undefined
  #isFinished = false
  #sawMetadata = false

  readResponse(body: Json): void {
    const message = getObject(getObject(body, 'output') ?? {}, 'message')
    if (!message) throw new Error('Not a Bedrock response.')
    for (const [index, block] of getObjects(message, 'content').entries()) {
      const use = getObject(block, 'toolUse')
      this.#onBlockStart(index, use)
      if (use) this.writer.addInput(index, encodeInput(use['input']))
      else this.#onDelta(index, block)
      this.writer.endBlock(index)
    }
    this.#onStop(body)
    this.#onMetadata(body)
    this.end()
  }

  readEvent(event: Json, name: string): void {
    const index = getNumber(event, 'contentBlockIndex') ?? 0
    switch (name) {
      case 'messageStart':
        return this.writer.start()
      case 'contentBlockStart':
        return this.#onBlockStart(index, getObject(getObject(event, 'start') ?? {}, 'toolUse'))
      case 'contentBlockDelta':
        return this.#onDelta(index, getObject(event, 'delta') ?? {})
      case 'contentBlockStop':
        return this.writer.endBlock(index)
      case 'messageStop':
        return this.#onStop(event)
      case 'metadata':
        return this.#onMetadata(event)
      default:
        return this.#onUnknownEvent(name, event)
    }
  }

  override end(): void {
    if (this.#isFinished) this.writer.usage(parseBedrockUsage(this.#usage))
  }

  /** The stop and the usage arrive in either order; nothing follows both. */
  #onStop(event: Json): void {
    this.#isFinished = true
    this.isComplete = this.#sawMetadata
    const native = getString(event, 'stopReason') ?? 'end_turn'
    this.writer.finish(native)
  }

  #onMetadata(event: Json): void {
    this.#sawMetadata = true
    this.isComplete = this.#isFinished
    this.#usage = mergeUsage(this.#usage, getObject(event, 'usage'))
  }

  #onUnknownEvent(name: string, event: Json): void {
    const status =
      lookup(statuses, name.charAt(0).toLowerCase() + name.slice(1)) ??
      (/Exception|Failure|Error/.test(name) ? 500 : undefined)
    if (status !== undefined) this.writer.error(getString(event, 'message') ?? name, name, status)
  }

  #onBlockStart(index: number, use: Json | undefined): void {
    if (use) this.writer.startCall(index, getString(use, 'toolUseId'), getString(use, 'name'))
  }

  /** In a stream, reasoning is not nested, and text and signature come one after the other. */
  #onDelta(index: number, delta: Json): void {
    this.writer.text(getString(delta, 'text'))
    this.writer.addInput(index, encodeArguments((getObject(delta, 'toolUse') ?? {})['input']))
    const content = getObject(delta, 'reasoningContent')
    if (!content) return
    const hidden = getString(content, 'redactedContent')
    const thought = getObject(content, 'reasoningText') ?? content
    if (hidden !== undefined) this.writer.hiddenReasoning(hidden, { index })
    else if ('text' in thought || 'signature' in thought)
      this.writer.thinking(index, getString(thought, 'text'), getString(thought, 'signature'))
  }
}

export const bedrockTranslation = createTranslation(BedrockReader, {
  reasons: bedrockReasons,
  signedFormat: bedrockFormat,
  names: bedrockNames,
})
