/** One response of a connection on its way: passes its events on as frames, and remembers it when it is complete. */
import type { ApiError } from '../../errors.ts'
import { getObject, getObjects, getString, isObject, type Json } from '../../providers/json-fields.ts'
import type { FrameSink } from './frame-request.ts'
import type { RememberedResponses } from './remembered-responses.ts'
import { joinItems, withoutTrigger, type Items, type ResponseCreate } from './response-create.ts'

/** The connection of a lane. */
export interface LaneConnection {
  readonly remembered: RememberedResponses
  /** Sends a frame. False: the client does not read fast enough. */
  send(json: string): boolean
  laneEnded(streamId: string | null): void
  destroy(): void
}

type ErrorFields = ReturnType<ApiError['toBody']>['error']

/** Clients know the error by its status. `headers`: those of an HTTP response, as a flat list. */
export function errorFrame(
  status: number,
  error: ErrorFields,
  streamId: string | null,
  headers: readonly string[] = [],
): string {
  const named = Object.fromEntries(
    headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1]]] : [])),
  )
  return JSON.stringify({
    type: 'error',
    status,
    error,
    ...(streamId === null ? {} : { stream_id: streamId }),
    ...(headers.length > 0 ? { headers: named } : {}),
  })
}

/** Reasoning that no provider can read any more is left out. */
function isUsable(item: Json): boolean {
  return item['type'] !== 'reasoning' || getString(item, 'encrypted_content') !== undefined
}

export class Lane implements FrameSink {
  readonly #connection: LaneConnection
  readonly #frame: ResponseCreate
  readonly #streamId: string | null
  /** The items of the response that it continues; `null`: it continues none of this connection. */
  readonly #earlier: Items | null
  /** Whether a failure makes the connection forget the response that it continues. */
  readonly #ownsPrevious: boolean

  constructor(connection: LaneConnection, frame: ResponseCreate, streamId: string | null) {
    const previous = frame.previousId === null ? undefined : connection.remembered.get(frame.previousId)
    this.#connection = connection
    this.#frame = frame
    this.#streamId = streamId
    this.#earlier = previous?.items ?? null
    this.#ownsPrevious = previous?.streamId === streamId
  }

  /** The body of the request. Throws 400. */
  body(): Buffer {
    try {
      if (this.#earlier) this.#frame.requireCalls(this.#earlier)
    } catch (error) {
      this.#forgetPrevious()
      throw error
    }
    return this.#frame.body(this.#earlier)
  }

  sendEvent(type: string, json: string): boolean {
    if (type === 'response.completed' || type === 'response.incomplete') this.#remember(json)
    if (type === 'response.failed') this.#forgetPrevious()
    const id = this.#streamId
    return this.#connection.send(
      id === null ? json : json.replace('{', `{"stream_id":${JSON.stringify(id)},`),
    )
  }

  sendError(status: number, headers: readonly string[], body: string): void {
    this.#forgetPrevious()
    const { error } = JSON.parse(body) as { error: ErrorFields }
    this.#connection.send(errorFrame(status, this.#asOfFrame(error), this.#streamId, headers))
  }

  end(): void {
    this.#connection.laneEnded(this.#streamId)
  }

  destroy(): void {
    this.#connection.destroy()
  }

  /** Before the last event is sent, so that the client can continue as soon as it has it. */
  #remember(json: string): void {
    // What came before a response that this connection does not have would be missing.
    if (this.#frame.isStored || (this.#frame.previousId !== null && this.#earlier === null)) return
    const event: unknown = JSON.parse(json)
    const response = isObject(event) ? getObject(event, 'response') : undefined
    const id = response && getString(response, 'id')
    if (!response || id === undefined) return
    const output = getObjects(response, 'output').filter(isUsable)
    const written = Buffer.from(output.map((item) => JSON.stringify(item)).join(','))
    const own = withoutTrigger(this.#frame.items)
    const asked = this.#earlier ? joinItems(this.#earlier, own) : own
    const items = joinItems(asked, { text: written, count: output.length })
    this.#connection.remembered.add(id, { items, streamId: this.#streamId })
  }

  #forgetPrevious(): void {
    const { previousId } = this.#frame
    if (previousId !== null && this.#ownsPrevious) this.#connection.remembered.delete(previousId)
  }

  /** With the client's own positions. */
  #asOfFrame(error: ErrorFields): ErrorFields {
    const { param } = error
    const earlier = this.#earlier?.count ?? 0
    const shift = (text: string): string =>
      text.replace(/\binput\[(\d+)\]/, (found, index: string) =>
        Number(index) < earlier ? found : `input[${Number(index) - earlier}]`,
      )
    return earlier === 0 || param === null
      ? error
      : { ...error, param: shift(param), message: shift(error.message) }
  }
}
