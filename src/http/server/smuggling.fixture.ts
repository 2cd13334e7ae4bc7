/**
 * Compares the fast path with node:http, whose parser (llhttp) is strict: both receive the same bytes in the same
 * pieces, and must see the same requests.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { SeedRange } from '../../../test/support/runner/seeds.ts'
import { BodyBudget } from '../body.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import {
  bodyLimitBytes,
  headerNames,
  parseResponses,
  startFastPath,
  startNodeServer,
  withErrorResponses,
  type RequestHandler,
} from './fast-path.fixture.ts'
import { FastRequest } from './fast-request.ts'
import { exchangeInMemory } from './memory-socket.fixture.ts'
import { generateConnection } from './request-bytes.fixture.ts'

interface SeenRequest {
  readonly isFast: boolean
  /** The method, the path, the query and all headers that handlers read. */
  readonly head: string
  /** Null: it did not arrive, or the connection was closed before the handler could read it. */
  body: string | null
  readonly request: IncomingRequest
}

/** Records the requests of one connection after another. */
class RequestRecorder {
  seen: SeenRequest[] = []

  readonly handle: RequestHandler = withErrorResponses(async (request, response) => {
    const { method, path, query } = request
    const headers = headerNames.map((name) => request.header(name) ?? null)
    const isFast = request instanceof FastRequest
    const head = JSON.stringify([method, path, query, headers])
    const seen: SeenRequest = { isFast, head, body: null, request }
    this.seen.push(seen)
    const budget = new BodyBudget({ bodyLimitBytes, bodiesLimitBytes: bodyLimitBytes })
    seen.body = (await request.body(budget, 'account')).toString('latin1')
    response.send(200, [], 'ok')
  })
}

/** What was compared. */
export interface SmugglingTally {
  connections: number
  /** Requests that the fast path served. */
  fast: number
  /** Requests that node:http received completely. */
  complete: number
  /** Connections that node:http ended with an error. */
  rejected: number
}

/** Asserts that the generator still reaches all outcomes. */
export function assertVariety(tally: SmugglingTally, t: TestContext): void {
  const { connections, fast, complete, rejected } = tally
  t.diagnostic(JSON.stringify(tally))
  assert.ok(fast >= Math.floor(connections / 10), `only ${fast} requests were served by the fast path`)
  assert.ok(complete - fast >= Math.floor(connections / 20), `only ${complete} requests were complete`)
  assert.ok(rejected >= Math.floor(connections / 10), `only ${rejected} connections were rejected`)
}

/** Sends `count` generated connections to both, beginning with the seed `from`. Throws at the first difference. */
export async function compareWithNode(t: TestContext, seeds: SeedRange): Promise<SmugglingTally> {
  const fastRecorder = new RequestRecorder()
  const nodeRecorder = new RequestRecorder()
  const { server: fastServer } = await startFastPath(t, fastRecorder.handle)
  const { server: nodeServer } = await startNodeServer(t, nodeRecorder.handle)
  const tally: SmugglingTally = { connections: 0, fast: 0, complete: 0, rejected: 0 }
  for (let seed = seeds.from; seed < seeds.from + seeds.count; seed += 1) {
    const pieces = generateConnection(seed)
    fastRecorder.seen = []
    nodeRecorder.seen = []
    const [fastText, nodeText] = await Promise.all([
      exchangeInMemory(fastServer, pieces),
      exchangeInMemory(nodeServer, pieces),
    ])
    const [fast, node] = [fastRecorder.seen, nodeRecorder.seen]
    const [fastError, nodeError] = [finalError(fastText), finalError(nodeText)]
    const isSameEnd = fastError === nodeError || (fastError === null && isWaiting(fast, node))
    const problem =
      findDifference(fast, node) ??
      (isSameEnd ? null : `the fast path ends with ${fastError}, node:http with ${nodeError}`)
    if (problem !== null) assert.fail(`seed ${seed}: ${problem}, after ${JSON.stringify(pieces.map(String))}`)
    tally.connections += 1
    tally.fast += fast.filter(({ isFast }) => isFast).length
    tally.complete += node.filter(({ request }) => request.isComplete).length
    if (nodeError !== null) tally.rejected += 1
  }
  return tally
}

/**
 * At an invalid byte, node:http closes the connection at once, so that the handlers of complete requests before it may
 * not get their bodies any more; the fast path serves these requests first.
 */
function findDifference(fast: readonly SeenRequest[], node: readonly SeenRequest[]): string | null {
  for (let nth = 0; nth < Math.max(fast.length, node.length); nth += 1) {
    const [ours, theirs] = [fast[nth], node[nth]]
    if (ours && theirs && ours.head !== theirs.head)
      return `request ${nth} is ${ours.head}, for node:http ${theirs.head}`
    const isReceived = ours !== undefined && ours.body !== null
    if (isReceived && theirs?.request.isComplete !== true) return `only the fast path accepts request ${nth}`
    if (theirs === undefined || theirs.body === null) continue
    if (!isReceived) return `only node:http accepts request ${nth}`
    if (ours.body !== theirs.body)
      return `the body of request ${nth} is ${JSON.stringify(ours.body)}, for node:http ${JSON.stringify(theirs.body)}`
  }
  return null
}

/**
 * Has the fast path served all requests, and waits for the rest of a head? node:http rejects it at its first invalid
 * byte, the fast path at the end of the line.
 */
function isWaiting(fast: readonly SeenRequest[], node: readonly SeenRequest[]): boolean {
  return fast.length === node.length && fast.every(({ body }) => body !== null)
}

/** The status of the last response if it is an error. */
function finalError(text: string): number | null {
  const { status } = parseResponses(text).at(-1) ?? { status: 0 }
  return status >= 400 ? status : null
}
