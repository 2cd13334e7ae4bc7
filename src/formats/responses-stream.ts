/** Encodes a stream in the OpenAI format as a stream of the Responses API, chunk by chunk. */
import { apiError, type ApiError } from '../errors.ts'
import { getObject, getObjects, getString, isObject, type Json } from '../providers/json-fields.ts'
import type { TokenUsage } from '../providers/usage.ts'
import { createOutput } from './responses-compaction.ts'
import { encodeErrorEvent } from './responses-error.ts'
import { encodeResponsesEvent, ResponsesEventLog, type SentPart } from './responses-event-log.ts'
import {
  endingOf,
  responseHead,
  responseObject,
  type ResponseEnding,
  type ResponseHead,
  type ResponsesContext,
} from './responses-object.ts'

const doneEvent = Buffer.from('data: [DONE]\n\n')

/** How a settled response ended: by itself (`null`), because money ended after `paidTokens`, or cut at a maximum. */
export interface ResponsesConclusion {
  readonly cutBy: 'money' | 'maximum' | null
  readonly paidTokens: number
  /** The maximum of output tokens that the account could pay for, if it is lower than the caller's; else null. */
  readonly loweredMaximum: number | null
  readonly usage: TokenUsage
}

/** What an incomplete stream has sent: events up to this many output tokens. `usage` null: nothing is billed. */
export interface CutStream {
  readonly sentTokens: number
  readonly usage: TokenUsage | null
}

interface FailedResponse extends SentPart {
  readonly head: ResponseHead
  readonly usage: TokenUsage | null
}

/** The events that end a response in the middle: `error` and `response.failed`, with the whole response. */
function failedEvents(error: ApiError, request: Json, failed: FailedResponse): Buffer {
  const { code, message } = error.toBody().error
  const { head, output, usage, nextNumber } = failed
  const response = responseObject(head, request, {
    ending: { status: 'failed', code, message },
    output,
    usage,
  })
  return Buffer.concat([
    encodeErrorEvent(error, nextNumber),
    encodeResponsesEvent('response.failed', nextNumber + 1, { response }),
  ])
}

/** The end of a response of which nothing has been sent. */
export function failedBeforeStart(error: ApiError, request: Json): Buffer {
  const head = responseHead({}, request)
  return failedEvents(error, request, { head, output: [], usage: null, nextNumber: 0 })
}

/** The events of a complete response without output, of which nothing is billed. */
export function emptyResponse(request: Json): Buffer {
  const head = responseHead({}, request)
  const usage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  const log = new ResponsesEventLog()
  for (const type of ['response.created', 'response.in_progress']) {
    log.onEvent(type, { response: responseObject(head, request, { ending: null, output: [], usage: null }) })
  }
  const ending = { status: 'completed' } as const
  log.onEvent('response.completed', {
    response: responseObject(head, request, { ending, output: [], usage }),
  })
  return log.take() ?? Buffer.alloc(0)
}

/** A response that is incomplete for this reason has reached the maximum that the account could pay for. */
export function isAtPaidMaximum(
  reason: string | undefined,
  { loweredMaximum, usage }: ResponsesConclusion,
): boolean {
  return reason === 'max_output_tokens' && loweredMaximum !== null && usage.output >= loweredMaximum
}

export class ResponsesStreamEncoder {
  readonly #context: ResponsesContext
  readonly #request: Json
  readonly #meter: { readonly tokens: number }
  readonly #log = new ResponsesEventLog()
  readonly #items: ReturnType<typeof createOutput>
  #head: ResponseHead | null = null
  #ending: ResponseEnding | null = null

  /** `meter` must have read each chunk before it is encoded. */
  constructor(context: ResponsesContext, meter: { readonly tokens: number }) {
    this.#context = context
    this.#request = context.request
    this.#meter = meter
    this.#items = createOutput(context, this.#log)
  }

  encode(chunk: unknown): Buffer | null {
    if (!isObject(chunk)) return null
    this.#log.tokens = this.#meter.tokens
    this.#start(chunk)
    const [choice] = getObjects(chunk, 'choices')
    if (choice) this.#onChoice(choice)
    return this.#log.take()
  }

  outputItems(): readonly Json[] {
    return this.#log.output
  }

  idleEvent(): Buffer | null {
    this.#emitResponse('response.in_progress', null, null)
    return this.#log.take()
  }

  finalEvents(conclusion: ResponsesConclusion): Buffer[] {
    const { cutBy, paidTokens, usage } = conclusion
    const ending =
      cutBy === 'maximum'
        ? endingOf('length', this.#context)
        : (this.#ending ?? endingOf(undefined, this.#context))
    // Clients would repeat an incomplete response, which cannot be paid.
    const reason = ending.status === 'incomplete' ? ending.reason : undefined
    if (cutBy === 'money' || (cutBy === null && isAtPaidMaximum(reason, conclusion))) {
      const sentTokens = cutBy === 'money' ? paidTokens : Infinity
      return [this.errorEvents(apiError('insufficient_quota'), { sentTokens, usage })]
    }
    this.#start({})
    if (!this.#ending) this.#items.finish(ending.status === 'completed' ? 'completed' : 'incomplete')
    const { failure } = this.#items
    if (failure) return [this.errorEvents(failure, { sentTokens: Infinity, usage })]
    this.#emitResponse(`response.${ending.status}`, ending, usage)
    const rest = this.#log.take()
    return [...(rest ? [rest] : []), doneEvent]
  }

  /** The last events of a stream that is cut. */
  errorEvents(error: ApiError, { sentTokens, usage }: CutStream): Buffer {
    const head = this.#head ?? responseHead({}, this.#request)
    return failedEvents(error, this.#request, { head, usage, ...this.#log.sentBy(sentTokens) })
  }

  #start(chunk: Json): void {
    if (this.#head) return
    this.#head = responseHead(chunk, this.#request)
    this.#emitResponse('response.created', null, null)
    this.#emitResponse('response.in_progress', null, null)
  }

  #emitResponse(type: string, ending: ResponseEnding | null, usage: TokenUsage | null): void {
    if (!this.#head) return
    const { output } = this.#log
    this.#log.onEvent(type, {
      response: responseObject(this.#head, this.#request, { ending, output, usage }),
    })
  }

  #onChoice(choice: Json): void {
    this.#items.addDelta(getObject(choice, 'delta') ?? {})
    const finish = getString(choice, 'finish_reason') ?? ''
    if (this.#ending !== null || finish === '') return
    this.#ending = endingOf(finish, this.#context)
    this.#items.finish(this.#ending.status === 'completed' ? 'completed' : 'incomplete')
  }
}
