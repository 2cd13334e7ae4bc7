/** What workers call of the ledger for each request. How calls travel: rpc/channel.ts. */
import type { SettleRequest } from '../ledger/transaction.ts'
import type { HoldRequest, HoldResponse } from '../relay/ledger-client.ts'
import type { Channel } from '../rpc/channel.ts'
import type { Rejection } from './rejection.ts'

/** Calls of workers for requests. Every result except that of a hold is sent once it is durable. */
export interface LedgerCalls {
  hold(request: HoldRequest): HoldResponse
  extend(id: string, remaining: number, searches: number): number
  mark(id: string, inputTokens: number, outputTokens: number): void
  /** Nanos in decimal. */
  settle(request: SettleRequest): string
  /** An event: a request was rejected. */
  reject(rejection: Rejection): void
}

/** What a worker hears of the ledger. */
export interface LedgerEvents {
  /** Everything up to this commit is on disk. */
  durable(commit: number): void
}

/** The main thread's end of the connection to a worker, as far as the ledger needs it. */
export type LedgerChannel = Pick<
  Channel<object, LedgerEvents>,
  'reply' | 'replyError' | 'sendBatched' | 'flush'
>
