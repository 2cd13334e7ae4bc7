/**
 * The output of a response, built from pieces in the OpenAI format: its items, and the events about them. Text, refusals
 * and reasoning are items one after another; the pieces of several tool calls may be interleaved.
 */
import { newId } from '../lib/ids.ts'
import { getObject, getObjects, getString, type Json } from '../providers/json-fields.ts'
import { CallPieces, encodeArguments } from '../providers/tool-call-pieces.ts'
import { extractPieces } from './content-pieces.ts'
import { JsonEndDetector } from './json-end-detector.ts'
import {
  callTypes,
  describeCall,
  encodeCallItem,
  encodePart,
  encodeTextItem,
  textEvents,
  type CallItem,
  type ItemStatus,
  type TextItem,
  type TextKind,
} from './responses-items.ts'
import { toolsByFunctionName, type CallerTool } from './responses-tools.ts'
import type { ResponsesContext } from './responses-object.ts'
import { isEncrypted, withoutText } from './thinking-signature.ts'

/** Receives the events, without their sequence number, and each item when it is complete. */
export interface OutputListener {
  onEvent(type: string, fields: Json): void
  onItem(index: number, item: Json): void
}

type StreamedCall = CallItem & { readonly end: JsonEndDetector; isEnded: boolean }

export class OutputItems {
  readonly #provider: string
  readonly #tools: ReadonlyMap<string, CallerTool>
  readonly #listener: OutputListener
  #count = 0
  #text: TextItem | null = null
  readonly #pieces = new CallPieces()
  /** By number. */
  readonly #calls = new Map<number, StreamedCall>()

  constructor({ provider, request }: ResponsesContext, listener: OutputListener) {
    this.#provider = provider
    this.#tools = toolsByFunctionName(request)
    this.#listener = listener
  }

  /** Adds the delta of a stream. */
  addDelta(delta: Json): void {
    for (const { kind, text } of extractPieces(delta)) this.#addText(kind, text)
    for (const detail of getObjects(delta, 'reasoning_details')) {
      if (isEncrypted(detail)) this.#addEncrypted(detail)
      else this.#addSignature(detail)
    }
    this.#addToolCalls(delta)
  }

  /** Adds a whole message, whose reasoning may be several blocks. */
  addMessage(message: Json): void {
    const details = getObjects(message, 'reasoning_details')
    const readable = details.filter((detail) => !isEncrypted(detail))
    for (const detail of readable) {
      this.#addText('thinking', getString(detail, 'text') ?? getString(detail, 'summary') ?? '')
      this.#addSignature(detail)
      this.#endText()
    }
    for (const detail of details) if (isEncrypted(detail)) this.#addEncrypted(detail)
    for (const { kind, text } of extractPieces(message))
      if (kind !== 'thinking' || readable.length === 0) this.#addText(kind, text)
    this.#addToolCalls(message)
  }

  /** Ends all items; those that are open get this status. */
  finish(status: ItemStatus): void {
    this.#endText(status)
    for (const call of this.#calls.values()) this.#endCall(call, status)
  }

  #addText(kind: TextKind, text: string): void {
    const item = this.#openText(kind)
    const { name, part, position } = textEvents[kind]
    if (text === '') return
    if (item.text === '') this.#emit(`${part}.added`, item, { ...position, part: encodePart(kind, '') })
    item.text += text
    const logprobs = kind === 'text' ? { logprobs: [] } : {}
    this.#emit(`${name}.delta`, item, { ...position, delta: text, ...logprobs })
  }

  /** Adds the signature of the current reasoning; it may arrive in pieces. */
  #addSignature(detail: Json): void {
    const item = this.#openText('thinking')
    item.detail = { ...item.detail, ...withoutText(detail) }
  }

  /** Adds reasoning that only its provider can read. */
  #addEncrypted(detail: Json): void {
    this.#endText()
    this.#openText('thinking').detail = detail
    this.#endText()
  }

  #addToolCalls(written: Json): void {
    for (const [position, call] of getObjects(written, 'tool_calls').entries()) {
      const called = getObject(call, 'function') ?? {}
      const number = this.#pieces.numberOf(call, position)
      const [id, name] = [getString(call, 'id') ?? '', getString(called, 'name') ?? '']
      const item = this.#calls.get(number) ?? this.#openCall(number, id, name)
      this.#addArguments(item, encodeArguments(called['arguments']))
    }
  }

  #openText(kind: TextKind): TextItem {
    if (this.#text?.kind === kind) return this.#text
    this.#endText()
    this.#endCompleteCalls()
    const id = newId(kind === 'thinking' ? 'rs' : 'msg')
    const item: TextItem = { kind, index: this.#count++, id, text: '', detail: undefined }
    this.#begin(item.index, encodeTextItem(item, 'in_progress', this.#provider))
    this.#text = item
    return item
  }

  #endText(status: ItemStatus = 'completed'): void {
    const item = this.#text
    if (!item) return
    this.#text = null
    const { kind, text } = item
    if (text !== '') {
      const { name, part, position } = textEvents[kind]
      const written = kind === 'refusal' ? { refusal: text } : { text }
      const logprobs = kind === 'text' ? { logprobs: [] } : {}
      this.#emit(`${name}.done`, item, { ...position, ...written, ...logprobs })
      this.#emit(`${part}.done`, item, { ...position, part: encodePart(kind, text) })
    }
    this.#end(item.index, encodeTextItem(item, status, this.#provider))
  }

  #openCall(number: number, id: string, functionName: string): StreamedCall {
    this.#endText()
    this.#endCompleteCalls()
    const about = describeCall(id, functionName, this.#tools)
    const itemId = newId(callTypes[about.kind].prefix)
    const end = new JsonEndDetector()
    const index = this.#count++
    const item: StreamedCall = { ...about, index, id: itemId, arguments: '', end, isEnded: false }
    this.#begin(item.index, encodeCallItem(item, 'in_progress'))
    this.#calls.set(number, item)
    return item
  }

  #addArguments(item: StreamedCall, piece: string): void {
    if (piece === '' || item.isEnded) return
    item.end.push(piece)
    item.arguments += piece
    // The input of a custom tool is part of the arguments, and known once they are complete.
    if (item.kind === 'function') this.#emit('function_call_arguments.delta', item, { delta: piece })
  }

  #endCompleteCalls(): void {
    for (const call of this.#calls.values()) if (call.end.isComplete) this.#endCall(call, 'completed')
  }

  #endCall(item: StreamedCall, status: ItemStatus): void {
    if (item.isEnded) return
    if (item.arguments === '' && item.kind === 'function') this.#addArguments(item, '{}')
    item.isEnded = true
    const encoded = encodeCallItem(item, status)
    if (item.kind === 'function') {
      const { name, arguments: text } = encoded
      this.#emit('function_call_arguments.done', item, { arguments: text, name })
    } else if (item.kind === 'custom') {
      const { input } = encoded
      this.#emit('custom_tool_call_input.delta', item, { delta: input })
      this.#emit('custom_tool_call_input.done', item, { input })
    }
    this.#end(item.index, encoded)
  }

  #begin(index: number, item: Json): void {
    this.#listener.onEvent('response.output_item.added', { output_index: index, item })
  }

  #end(index: number, item: Json): void {
    this.#listener.onEvent('response.output_item.done', { output_index: index, item })
    this.#listener.onItem(index, item)
  }

  #emit(name: string, { id, index }: TextItem | CallItem, fields: Json): void {
    this.#listener.onEvent(`response.${name}`, { item_id: id, output_index: index, ...fields })
  }
}
