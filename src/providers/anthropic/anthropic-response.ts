/** Translates Anthropic's responses and streams (Messages API) into the OpenAI format. */
import { encodeInput } from '../chat-response.ts'
import { parseAnthropicUsage } from './anthropic-usage.ts'
import { getObject, getObjects, getNumber, getString, type Json, lookup } from '../json-fields.ts'
import { claudeNames } from '../provider-names.ts'
import { anthropicFormat } from '../reasoning-details.ts'
import { createTranslation, ResponseReader } from '../response-translation.ts'
import { mergeUsage } from '../usage-counts.ts'
import { anthropicReasons } from '../finish-reasons.ts'

/** The HTTP status of an error inside a stream (Anthropic, "Errors"). */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/**
 * Calls of tools that Anthropic runs itself. Only callers with Anthropic's format can request them. They are translated
 * so that the output of the model is metered as it arrives.
 */
const serverTools = new Set(['server_tool_use', 'mcp_tool_use'])

class AnthropicReader extends ResponseReader {
  /** The indexes of calls of server tools. */
  readonly #serverBlocks = new Set<number>()
  #hasStarted = false
  /** The counts so far: some upstreams repeat them as null in a later event. */
  #usage: Json | undefined
  #isFinished = false
  readResponse(message: Json): void {
    if (!Array.isArray(message['content'])) throw new Error('Not an Anthropic message.')
    this.#onMessageStart(message)
    for (const [index, block] of getObjects(message, 'content').entries()) {
      this.#onBlockStart(index, block)
      if (block['type'] === 'tool_use') this.writer.addInput(index, encodeInput(block['input']))
      this.writer.endBlock(index)
    }
    this.#onMessageDelta({ ...message, stop_reason: getString(message, 'stop_reason') ?? 'end_turn' })
    this.end()
  }

  readEvent(event: Json): void {
    const index = getNumber(event, 'index') ?? 0
    switch (event['type']) {
      case 'message_start':
        return this.#onMessageStart(getObject(event, 'message') ?? {})
      case 'content_block_start':
        return this.#onBlockStart(index, getObject(event, 'content_block') ?? {})
      case 'content_block_delta':
        return this.#onDelta(index, getObject(event, 'delta') ?? {})
      case 'content_block_stop':
        this.#serverBlocks.delete(index)
        return this.writer.endBlock(index)
      case 'message_delta':
        this.#usage = mergeUsage(this.#usage, getObject(event, 'usage'))
        return this.#onMessageDelta(getObject(event, 'delta') ?? {})
      case 'message_stop':
        this.isComplete = true
        return
      case 'error':
        return this.#onError(getObject(event, 'error') ?? {})
    }
    if (typeof event['type'] !== 'string') throw new Error('Not an Anthropic event.')
  }

  override end(): void {
    if (this.#isFinished) this.writer.usage(parseAnthropicUsage(this.#usage))
  }

  #onMessageStart(message: Json): void {
    // An upstream that starts over, or mixes two responses: none of them can be trusted to be complete.
    if (this.#hasStarted) throw new Error('A second message started in the same stream.')
    this.#hasStarted = true
    this.#usage = getObject(message, 'usage')
    this.writer.setIdentity(getString(message, 'id'), getString(message, 'model'))
    this.writer.start()
  }

  #onBlockStart(index: number, block: Json): void {
    const writer = this.writer
    switch (block['type']) {
      case 'text':
        return writer.text(getString(block, 'text'))
      case 'thinking':
        return writer.thinking(
          index,
          getString(block, 'thinking'),
          getString(block, 'signature') || undefined,
        )
      case 'redacted_thinking':
        return writer.hiddenReasoning(getString(block, 'data') ?? '', { index })
      case 'tool_use':
        return writer.startCall(index, getString(block, 'id'), getString(block, 'name'))
    }
    if (!serverTools.has(getString(block, 'type') ?? '')) return
    this.#serverBlocks.add(index)
    writer.delta({ server_tool_calls: [{ name: getString(block, 'name') ?? '' }] })
  }

  #onDelta(index: number, delta: Json): void {
    const writer = this.writer
    switch (delta['type']) {
      case 'text_delta':
        return writer.text(getString(delta, 'text'))
      case 'thinking_delta':
        return writer.thinking(index, getString(delta, 'thinking'))
      case 'signature_delta':
        return writer.thinking(index, '', getString(delta, 'signature'))
      case 'input_json_delta': {
        const text = getString(delta, 'partial_json') ?? ''
        if (!this.#serverBlocks.has(index)) writer.addInput(index, text)
        else if (text !== '') writer.delta({ server_tool_calls: [{ arguments: text }] })
      }
    }
  }

  /** `delta`: of the message, which ends with its stop reason. */
  #onMessageDelta(delta: Json): void {
    const native = getString(delta, 'stop_reason')
    if (native === undefined || this.#isFinished) return
    this.#isFinished = true
    const details = getObject(delta, 'stop_details')
    const refusal = details?.['type'] === 'refusal' ? getString(details, 'explanation') : undefined
    if (refusal !== undefined) this.writer.delta({ refusal })
    this.writer.finish(native)
  }

  #onError(error: Json): void {
    const type = getString(error, 'type') ?? 'api_error'
    this.writer.error(getString(error, 'message') ?? type, type, lookup(statuses, type) ?? 500)
  }
}

export const anthropicTranslation = createTranslation(AnthropicReader, {
  reasons: anthropicReasons,
  signedFormat: anthropicFormat,
  names: claudeNames,
})
