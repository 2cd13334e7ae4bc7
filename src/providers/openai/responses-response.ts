/**
 * Translates the responses and streams of `POST /v1/responses` into the OpenAI format of chat completions (OpenAI API
 * reference, "Responses" and "Streaming events"). Items are matched by `output_index`: some upstreams change their ids.
 */
import { getObject, getObjects, getNumber, getString, isObject, lookup, type Json } from '../json-fields.ts'
import { responsesFormat, textDetail } from '../reasoning-details.ts'
import { createTranslation, ResponseReader } from '../response-translation.ts'
import { encodeArguments } from '../tool-call-pieces.ts'
import type { TokenUsage } from '../usage.ts'
import { classOf, responsesReasons } from '../finish-reasons.ts'
import { calledTool, imageCall, isSearch, parseResponsesUsage } from './responses-usage.ts'

/** The HTTP status that an error inside a stream corresponds to. Others are failures of the provider. */
const statuses: Readonly<Record<string, number>> = {
  insufficient_quota: 402,
  rate_limit_exceeded: 429,
  context_length_exceeded: 400,
  invalid_prompt: 400,
  invalid_request_error: 400,
  invalid_encrypted_content: 400,
}

/** Calls that the caller runs, with the field of their input. */
const callerCalls: Readonly<Record<string, string>> = {
  function_call: 'arguments',
  custom_tool_call: 'input',
}

/** What the provider does itself: calls, which are metered as they appear, and a compaction. */
const callType = /_call$|^compaction$/

/** Events whose `delta` is text that the model has written for the provider's own tools. */
const toolDelta =
  /^response\.(?:code_interpreter_call_code|mcp_call_arguments|apply_patch_call_.+|shell_call_.+)\.delta$/

const paragraph = '\n\n'

/** A citation of a page in the OpenAI format; other annotations have no place there. */
function citationsIn(part: Json): Json[] {
  return getObjects(part, 'annotations').flatMap(({ type, url, title, start_index, end_index }) =>
    type === 'url_citation' ? [{ type, url_citation: { url, title, start_index, end_index } }] : [],
  )
}

class ResponsesReader extends ResponseReader {
  /** The items whose text has been received in pieces. */
  readonly #streamed = new Set<number>()
  /** The parts of the turn as callers return it: its reasoning, its text and its calls. */
  #parts = 0
  #hasText = false
  #hasCalls = false

  readResponse(response: Json): void {
    if (!Array.isArray(response['output'])) throw new Error('Not a response of the Responses API.')
    this.#identify(response)
    this.writer.start()
    for (const [index, item] of getObjects(response, 'output').entries()) {
      this.#onItemAdded(index, item)
      this.#onItemDone(index, item)
    }
    this.#onEnd(response)
  }

  readEvent(event: Json): void {
    const type = getString(event, 'type')
    const index = getNumber(event, 'output_index') ?? 0
    const delta = getString(event, 'delta')
    switch (type) {
      case undefined:
        throw new Error('Not an event of the Responses API.')
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        return this.#identify(getObject(event, 'response') ?? {})
      case 'response.output_item.added':
        return this.#onItemAdded(index, getObject(event, 'item') ?? {})
      case 'response.output_item.done':
        return this.#onItemDone(index, getObject(event, 'item') ?? {})
      case 'response.output_text.delta':
        return this.#stream(index, () => this.writer.text(delta, 0, getObjects(event, 'logprobs')))
      case 'response.refusal.delta':
        return this.#stream(index, () => this.writer.delta({ refusal: delta ?? '' }))
      case 'response.reasoning_summary_part.added':
        if ((getNumber(event, 'summary_index') ?? 0) > 0) this.writer.reasoning(paragraph)
        return
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return this.#stream(index, () => this.writer.reasoning(delta))
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#stream(index, () => this.writer.addInput(index, delta))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#onEnd(getObject(event, 'response') ?? {})
      case 'error':
        return this.#onError(getObject(event, 'error') ?? event)
    }
    if (delta !== undefined && toolDelta.test(type))
      this.writer.delta({ server_tool_calls: [{ arguments: delta }] })
  }

  #stream(index: number, write: () => void): void {
    this.#streamed.add(index)
    write()
  }

  #identify(response: Json): void {
    this.writer.setIdentity(getString(response, 'id'), getString(response, 'model'))
  }

  #onItemAdded(index: number, item: Json): void {
    const type = getString(item, 'type') ?? ''
    if (lookup(callerCalls, type) !== undefined) {
      this.#hasCalls = true
      this.writer.startCall(index, getString(item, 'call_id'), getString(item, 'name'))
      return
    }
    if (!callType.test(type)) return
    const tool = type === 'web_search_call' ? null : calledTool(item)
    const called = tool === null ? {} : { tool, ...(type === imageCall ? { index } : {}) }
    this.writer.delta({ server_tool_calls: [{ name: type, ...called }] })
  }

  /** The item as a whole, which some upstreams send alone. */
  #onItemDone(index: number, item: Json): void {
    const type = getString(item, 'type') ?? ''
    // A compaction repeats what the user wrote.
    if (item['role'] === 'user') return
    const input = lookup(callerCalls, type)
    const isStreamed = this.#streamed.has(index)
    if (input !== undefined) {
      if (!isStreamed) this.writer.addInput(index, encodeArguments(item[input]))
      this.writer.endBlock(index)
      this.#parts += 1
    } else if (type === 'reasoning') this.#onReasoning(item, isStreamed)
    else this.#onMessage(item, isStreamed)
    // Only the complete item states the class of the image, and whether there is one.
    if (type === imageCall) this.writer.delta({ server_tool_calls: [{ index, tool: calledTool(item) }] })
    if (type === 'compaction') this.writer.delta({ reasoning_details: [encryptedDetail(item)] })
    if (isSearch(item)) this.writer.delta({ server_tool_calls: [{ name: 'web_search', tool: 'web_search' }] })
  }

  #onReasoning(item: Json, isStreamed: boolean): void {
    const parts = [...getObjects(item, 'content'), ...getObjects(item, 'summary')]
    const text = parts.map((part) => getString(part, 'text') ?? '').join(paragraph)
    if (!isStreamed) this.writer.reasoning(text)
    const signature = getString(item, 'encrypted_content')
    if (text === '' && signature === undefined) return
    const detail = textDetail(text, { signature, format: responsesFormat, index: this.#parts++ })
    this.writer.delta({ reasoning_details: [detail] })
  }

  #onMessage(item: Json, isStreamed: boolean): void {
    const parts = getObjects(item, 'content')
    // Callers return the text of several messages as one.
    if (parts.length > 0 && !this.#hasText) this.#parts += 1
    this.#hasText ||= parts.length > 0
    for (const part of parts) {
      const refusal = getString(part, 'refusal')
      if (!isStreamed && refusal !== undefined) this.writer.delta({ refusal })
      if (!isStreamed) this.writer.text(getString(part, 'text'), 0, getObjects(part, 'logprobs'))
      const annotations = citationsIn(part)
      if (annotations.length > 0) this.writer.delta({ annotations })
    }
  }

  #onEnd(response: Json): void {
    this.#identify(response)
    const usage = isObject(response['usage']) ? parseResponsesUsage(response) : null
    const status = getString(response, 'status') ?? 'completed'
    if (classOf(responsesReasons, status) === 'failed')
      return this.#onError({ type: status, ...getObject(response, 'error') }, usage)
    const reason = getString(getObject(response, 'incomplete_details') ?? {}, 'reason') ?? status
    const endsWithCalls = reason === 'completed' && this.#hasCalls
    this.writer.finish(reason, endsWithCalls ? 'tool_calls' : undefined)
    this.writer.usage(usage)
    this.isComplete = true
  }

  /** `usage`: what a failed response is billed all the same. */
  #onError(error: Json, usage: TokenUsage | null = null): void {
    const code = getString(error, 'code') ?? getString(error, 'type') ?? 'server_error'
    this.writer.error(getString(error, 'message') ?? code, code, lookup(statuses, code) ?? 500, usage)
  }
}

/** What a compaction contains, which only the upstream can read, so that it counts as written. */
function encryptedDetail(item: Json): Json {
  return textDetail('', {
    signature: getString(item, 'encrypted_content'),
    format: responsesFormat,
    index: 0,
  })
}

export const responsesTranslation = createTranslation(ResponsesReader, { reasons: responsesReasons })
