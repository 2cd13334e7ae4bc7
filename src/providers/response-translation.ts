/** Translates the responses of a provider with its own API format, streamed or not, by one reader of both. */
import { parseBoundedJson } from '../lib/json/bounded-json.ts'
import { ChatWriter, type ResponseWords } from './chat-response.ts'
import { isObject, type Json } from './json-fields.ts'
import type { Translation } from './provider.ts'

/** Reads one response into a writer. Throws for one that is not valid in the provider's format. */
export abstract class ResponseReader {
  protected readonly writer: ChatWriter
  /** The stream's own end marker has been received. */
  isComplete = false

  constructor(writer: ChatWriter) {
    this.writer = writer
  }

  /** Reads an event of a stream. */
  abstract readEvent(event: Json, name: string): void
  /** Reads a non-streaming response. */
  abstract readResponse(body: Json): void
  /** Call when the stream has ended; writes what is still missing. */
  end(): void {}
}

export function createTranslation(
  Reader: new (writer: ChatWriter) => ResponseReader,
  words: ResponseWords,
): Translation {
  return {
    translateResponse(body, call) {
      if (!isObject(body)) throw new Error('The response is not an object.')
      const writer = new ChatWriter(call, words)
      new Reader(writer).readResponse(body)
      return { response: writer.completion(), identity: writer.identity }
    },
    createStream(call) {
      const writer = new ChatWriter(call, words)
      const reader = new Reader(writer)
      return {
        translate({ name, text }) {
          // An event without data is none (WHATWG HTML, "Server-sent events"), also in another framing.
          if (text.trim() === '') return []
          const event = parseBoundedJson(text)
          if (!isObject(event)) throw new Error('The event is not an object.')
          reader.readEvent(event, name)
          return writer.take()
        },
        end() {
          reader.end()
          return writer.take()
        },
        get isComplete() {
          return reader.isComplete
        },
        get identity() {
          return writer.identity
        },
      }
    },
  }
}
