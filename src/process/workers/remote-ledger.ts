/** The ledger as a worker uses it: over its channel to the main thread. */
import type { ResponseToStore, SettleRequest } from '../../ledger/transaction.ts'
import type { LedgerClient, HoldResponse, HoldRequest } from '../../relay/ledger-client.ts'
import type { RateStatus } from '../../limits/rate-limiter.ts'
import type { BatchedHandlers, Channel } from '../../rpc/channel.ts'
import type { LedgerCalls, LedgerEvents } from '../../engine/ledger-calls.ts'
import type { MainServices } from './protocol.ts'

/** A worker's end of the connection to the main thread. */
export type MainChannel = Channel<MainServices, LedgerCalls>

export class RemoteLedger implements LedgerClient {
  readonly #channel: MainChannel
  readonly #relay: MainServices['relay']
  readonly #control: MainServices['control']
  /** By the number of the commit that they wait for. */
  readonly #commitWaiters = new Map<number, PromiseWithResolvers<void>>()
  #durable = 0

  constructor(channel: MainChannel) {
    this.#channel = channel
    this.#relay = channel.proxy('relay')
    this.#control = channel.proxy('control')
  }

  /** For `Channel.serve`. */
  get events(): BatchedHandlers<LedgerEvents> {
    return { durable: (_, commit) => this.#onDurable(commit) }
  }

  hold(request: HoldRequest): Promise<HoldResponse> {
    return this.#channel.callBatched('hold', request)
  }

  takeTokenCount(id: string, keyId: string): Promise<RateStatus> {
    return this.#relay.takeTokenCount(id, keyId)
  }

  takeReplay(id: string, keyId: string): Promise<void> {
    return this.#relay.takeReplay(id, keyId)
  }

  async balanceOf(account: string): Promise<bigint> {
    return (await this.#control.wallet(account, null)).balance
  }

  extend(id: string, remaining: number, searches: number): Promise<number> {
    return this.#channel.callBatched('extend', id, remaining, searches)
  }

  mark(id: string, inputTokens: number, outputTokens: number): Promise<void> {
    return this.#channel.callBatched('mark', id, inputTokens, outputTokens)
  }

  async settle(request: SettleRequest, response: ResponseToStore | null): Promise<bigint> {
    // Sent at once, and therefore before the settlement, which is sent at the end of the turn.
    if (response) this.#channel.send('relay', 'storeResponse', request.id, response)
    return BigInt(await this.#channel.callBatched('settle', request))
  }

  get lastDurableCommit(): number {
    return this.#durable
  }

  isDurable(commit: number): boolean {
    return commit <= this.#durable
  }

  whenDurable(commit: number): Promise<void> {
    if (commit <= this.#durable) return Promise.resolve()
    const waiter = this.#commitWaiters.get(commit) ?? Promise.withResolvers<void>()
    this.#commitWaiters.set(commit, waiter)
    return waiter.promise
  }

  #onDurable(commit: number): void {
    this.#durable = commit
    for (const [awaited, { resolve }] of this.#commitWaiters) {
      if (awaited > commit) continue
      this.#commitWaiters.delete(awaited)
      resolve()
    }
  }
}
