/** Calls of the automation contract in a story, with what each has to answer. */
import assert from 'node:assert/strict'
import type { House } from './support/server/test-server.ts'

export type Fields = Record<string, unknown>

export interface List<Item = Fields> {
  readonly data: Item[]
  readonly next: string | null
}

/** One call and what it has to answer: the status, and of a refusal the code and the field. */
export async function answered<Answer = Fields>(
  house: House,
  status: number,
  call: readonly [string, string, unknown?],
): Promise<Answer> {
  const reply = await house.relay.adminReply(...call)
  const body: unknown = await reply.json()
  assert.equal(reply.status, status, `${call[0]} ${call[1]}: ${JSON.stringify(body)}`)
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_/)
  return body as Answer
}

export async function refused(
  house: House,
  status: number,
  call: readonly [string, string, unknown?],
): Promise<unknown> {
  const { error } = await answered(house, status, call)
  assert.deepEqual(Object.keys(error as Fields).toSorted(), ['code', 'message', 'param', 'type'])
  return (error as Fields)['param']
}

interface Document {
  readonly paths: Record<string, Record<string, unknown>>
}

/** Every call of the contract that the document names, with something in the place of each id. */
export async function callsOf(house: House): Promise<[method: string, path: string][]> {
  const document = (await (await fetch(`${house.url}/openapi.json`)).json()) as Document
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method): [string, string] => [
      method.toUpperCase(),
      path.replaceAll(/\{\w+\}/g, 'x'),
    ]),
  )
  return calls.filter(([, path]) => path.startsWith('/api/admin/'))
}
