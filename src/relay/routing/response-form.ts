/** Whether a response is a stream or a whole one: some upstreams send the other than was asked for, or label it wrongly. */

/** `json`: a whole response. */
export type ResponseForm = 'json' | 'stream'

const ignored = new Set([...Buffer.from('\ufeff'), ...Buffer.from(' \t\r\n')])
/** The first characters of JSON that is an object or an array. */
const jsonStarts = new Set(Buffer.from('{['))
const jsonArrayStart = 0x5b
/** Those of the fields and comments of server-sent events. */
const eventStarts = new Set(Buffer.from(':deir'))

/** The form that the first bytes of a body show; `null`: there is nothing but white space so far. */
export function detectForm(bytes: Buffer): ResponseForm | 'other' | null {
  const first = bytes.find((byte) => !ignored.has(byte))
  if (first === undefined) return null
  if (jsonStarts.has(first)) return 'json'
  return eventStarts.has(first) ? 'stream' : 'other'
}

/** Whether the body is an array, as Gemini's streams are where `alt=sse` gets lost. */
export function isArray(bytes: Buffer): boolean {
  return bytes.find((byte) => !ignored.has(byte)) === jsonArrayStart
}
