/**
 * Simulates a node in a single thread: workers, an authority, a disk and callers, with a random next step.
 * Messages are delayed, lost and repeated; workers and the whole process crash anywhere; the clock jumps;
 * periods end.
 */
import type { Caps } from '../src/ledger/caps.ts'
import { dayMs, SimAuthority } from './authority.ts'
import type { Bug } from './bugs.ts'
import { accounts, Callers, drawCaps, keys } from './callers.ts'
import { Prng } from './prng.ts'
import { checkClaims } from './check-idempotency.ts'
import {
  checkDelivered,
  checkRequests,
  checkRestored,
  checkSums,
  checkState,
  ReferenceModel,
} from './checks.ts'
import { SimDisk } from './disk.ts'
import type { SimHoldOptions, SimMessage, SimReply } from './messages.ts'
import { SimRequest } from './request.ts'

const maxSteps = 260

export class Simulation {
  readonly #prng: Prng
  readonly #bug: Bug | null
  readonly #caps = new Map<string, Caps>()
  readonly #requests: SimRequest[] = []
  /** Requests whose worker is alive. */
  #running: SimRequest[] = []
  #messages: SimMessage[] = []
  #replies: SimReply[] = []
  #workers: number[] = []
  /** Workers that have died without the authority knowing it yet. */
  #lostWorkers: number[] = []
  #nextWorker = 1
  #now: number
  /** The highest time that the clock has shown. */
  #latest: number
  /** A monotonic clock. */
  #monotonicMs = 0
  readonly #callers: Callers
  /** The newest commit that each worker knows to be durable. */
  readonly #durableCommits = new Map<number, number>()
  #disk = new SimDisk()
  #referenceModel: ReferenceModel
  #authority: SimAuthority
  readonly #durableCredits = new Map<string, bigint>()
  #credits: { id: string; amount: bigint; commit: number }[] = []
  steps = 0

  constructor(seed: number, bug: Bug | null) {
    this.#prng = new Prng(seed)
    this.#bug = bug
    this.#now = 1_000 * dayMs + this.#prng.below(dayMs)
    this.#latest = this.#now
    this.#callers = new Callers(this.#prng)
    for (const account of accounts)
      for (const key of ['', ...keys[account]]) this.#caps.set(account + key, drawCaps(this.#prng))
    for (const account of accounts) this.#alignCaps(account)
    this.#referenceModel = new ReferenceModel(this.#capsOf, this.#optionsOf)
    this.#authority = this.#start()
    for (let count = 0; count < 2; count += 1) this.#workers.push(this.#nextWorker++)
    for (const account of accounts) this.#credit(account, BigInt(this.#prng.between(300, 6000)))
  }

  /** All keys of an account share the account's caps. */
  #alignCaps(account: (typeof accounts)[number]): void {
    const { accountDay, accountMonth, accountRequestsPerDay } = this.#capsOf(account, '')
    for (const key of keys[account]) {
      this.#caps.set(account + key, {
        ...this.#capsOf(account, key),
        accountDay,
        accountMonth,
        accountRequestsPerDay,
      })
    }
  }

  readonly #capsOf = (account: string, key: string): Caps => {
    const caps = this.#caps.get(account + key)
    if (!caps) throw new Error(`no caps of ${account} ${key}`)
    return caps
  }

  readonly #optionsOf = (id: string): SimHoldOptions | undefined =>
    this.#requests[Number(id.slice(1))]?.script.options

  #start(): SimAuthority {
    const authority = new SimAuthority({
      disk: this.#disk,
      now: () => this.#now,
      monotonicNow: () => this.#monotonicMs,
      capsOf: this.#capsOf,
      send: (reply) => this.#replies.push(reply),
      onEvent: (event) => this.#referenceModel.record(event),
      bug: this.#bug,
    })
    this.#authority = authority
    authority.recover()
    return authority
  }

  #credit(account: string, amount: bigint): void {
    const id = `credit ${this.steps} ${account}`
    this.#credits.push({ id, amount, commit: this.#authority.credit(id, account, amount) })
  }

  /** Runs to the end. Throws if an invariant is violated. */
  run(): void {
    while (this.steps < maxSteps) {
      this.steps += 1
      this.#step()
      this.#check()
    }
    this.#drain()
    // Everything confirmed so far must survive one more crash.
    this.#crash()
    checkRequests(this.#requests, this.#disk, this.#authority.state)
    checkSums(this.#disk, this.#authority.state, this.#durableCredits)
    checkClaims(this.#requests, this.#disk)
  }

  #check(): void {
    checkState(this.#authority.state, this.#capsOf, this.#referenceModel)
    for (const request of this.#running) checkDelivered(request, this.#disk)
  }

  /** One random step, drawn by weight. */
  #step(): void {
    const draw = this.#prng.below(1000)
    if (draw < 60) this.#startRequest()
    else if (draw < 330) this.#receiveTokens()
    else if (draw < 560) this.#deliverMessage()
    else if (draw < 740) this.#deliverReply()
    else if (draw < 830) this.#advanceWrite()
    else if (draw < 870) this.#pickRequest()?.retry()
    else if (draw < 885) this.#pickRequest()?.disconnect()
    else if (draw < 935) this.#advanceClock()
    else if (draw < 950) this.#reportLostWorker()
    else if (draw < 956) this.#loseWorker()
    else if (draw < 961) this.#crash()
    else if (draw < 975) this.#credit(this.#prng.pick(accounts), BigInt(this.#prng.between(100, 800)))
    else this.#authority.actOnBug()
  }

  #pickRequest(): SimRequest | undefined {
    return this.#running.length === 0 ? undefined : this.#prng.pick(this.#running)
  }

  #startRequest(): void {
    if (this.#running.length >= 10) return
    const worker = this.#prng.pick(this.#workers)
    const deps = {
      send: (message: SimMessage) => this.#messages.push(message),
      seen: this.#durableCommits.get(worker) ?? 0,
      bug: this.#bug,
    }
    const request = new SimRequest(`r${this.#requests.length}`, worker, this.#callers.nextRequest(), deps)
    this.#requests.push(request)
    this.#running.push(request)
  }

  #receiveTokens(): void {
    const request = this.#pickRequest()
    this.#lookUpResponse(request)
    request?.receive(this.#prng.between(1, this.#prng.bool(0.2) ? 150 : 30))
  }

  #lookUpResponse(request: SimRequest | undefined): void {
    if (!request) return
    request.lookUpResponse(this.#disk, { now: this.#now, latest: this.#latest })
    if (request.isOver) this.#running = this.#running.filter((each) => each !== request)
  }

  /** Delivers the next message of a random worker: in order, but possibly lost or repeated later. */
  #deliverMessage(): void {
    if (this.#messages.length === 0) return
    const { worker } = this.#prng.pick(this.#messages)
    const index = this.#messages.findIndex((message) => message.worker === worker)
    const message = this.#messages[index]
    if (!message) return
    if (this.#prng.bool(0.06)) this.#messages.push(message)
    this.#messages.splice(index, 1)
    if (this.#prng.bool(0.04)) return
    this.#authority.handle(message)
  }

  #deliverReply(): void {
    if (this.#replies.length === 0) return
    const { worker } = this.#prng.pick(this.#replies)
    const index = this.#replies.findIndex((reply) => reply.worker === worker)
    const reply = this.#replies[index]
    if (!reply) return
    this.#replies.splice(index, 1)
    if (reply.response.kind !== 'durable') {
      if (this.#prng.bool(0.06)) this.#replies.push(reply)
      if (this.#prng.bool(0.04)) return
    }
    this.#deliver(reply)
  }

  #deliver({ worker, id, call, response }: SimReply): void {
    if (response.kind === 'durable')
      this.#durableCommits.set(worker, Math.max(response.commit, this.#durableCommits.get(worker) ?? 0))
    for (const request of this.#running) {
      if (request.worker === worker && (response.kind === 'durable' || request.id === id))
        request.onResponse(call, response)
    }
    this.#running = this.#running.filter((request) => !request.isOver)
  }

  #advanceWrite(): void {
    if (this.#authority.isWriting) {
      this.#authority.finishWrite()
      this.#collectDurableCredits()
    } else if (this.#authority.canWrite) this.#authority.startWrite()
  }

  #collectDurableCredits(): void {
    const { durable } = this.#authority
    for (const { id, amount, commit } of this.#credits)
      if (commit <= durable) this.#durableCredits.set(id, amount)
    this.#credits = this.#credits.filter(({ commit }) => commit > durable)
  }

  /** Time passes or the clock is set, often past the end of a period. */
  #advanceClock(): void {
    const prng = this.#prng
    if (prng.bool(0.1)) this.#now += prng.between(-2 * dayMs, 2 * dayMs)
    else {
      const passed = prng.below(prng.bool(0.3) ? dayMs : dayMs / 20)
      this.#now += passed
      this.#monotonicMs += passed
    }
    this.#latest = Math.max(this.#latest, this.#now)
    if (prng.bool(0.3)) this.#disk.dropExpired(this.#now)
  }

  #loseWorker(): void {
    const worker = this.#prng.pick(this.#workers)
    this.#workers = [...this.#workers.filter((each) => each !== worker), this.#nextWorker++]
    this.#lostWorkers.push(worker)
    this.#dropWorkers((each) => each === worker)
  }

  /** Abandons the requests of these workers. Replies on their way to them are lost. */
  #dropWorkers(isLost: (worker: number) => boolean): void {
    for (const request of this.#running) if (isLost(request.worker)) request.abandon()
    this.#running = this.#running.filter((request) => !request.isOver)
    this.#replies = this.#replies.filter(({ worker }) => !isLost(worker))
  }

  /** The authority learns that a worker has died. Messages of that worker no longer arrive. */
  #reportLostWorker(): void {
    const worker = this.#lostWorkers.shift()
    if (worker === undefined) return
    this.#messages = this.#messages.filter((message) => message.worker !== worker)
    this.#authority.workerLost(worker)
  }

  /** Everything in memory is lost. A commit being written may have reached the disk. */
  #crash(): void {
    const { commitBeingWritten } = this.#authority
    if (commitBeingWritten && this.#prng.bool(0.5)) this.#disk.write(commitBeingWritten)
    this.#dropWorkers(() => true)
    this.#messages = []
    this.#lostWorkers = []
    this.#credits = []
    this.#workers = [this.#nextWorker++, this.#nextWorker++]
    this.#referenceModel = new ReferenceModel(this.#capsOf, this.#optionsOf)
    for (const event of this.#disk.events()) this.#referenceModel.record(event)
    checkRestored(this.#disk)
    this.#authority = this.#start()
    this.#check()
  }

  /** Without further faults, all running requests finish. */
  #drain(): void {
    while (this.#lostWorkers.length > 0) this.#reportLostWorker()
    for (let round = 0; round < 400 && this.#running.length > 0; round += 1) {
      for (const request of this.#running) {
        if (round % 10 === 9) request.retry()
        this.#lookUpResponse(request)
        request.receive(60)
      }
      for (const message of this.#messages.splice(0)) this.#authority.handle(message)
      this.#authority.actOnBug()
      for (let write = 0; write < 2; write += 1) this.#advanceWrite()
      for (const reply of this.#replies.splice(0)) this.#deliver(reply)
      this.#check()
    }
    if (this.#running.length > 0) throw new Error(`${this.#running.length} requests do not finish`)
    // Late and repeated messages arrive after everything else.
    for (const message of this.#messages.splice(0)) this.#authority.handle(message)
    while (this.#authority.canWrite || this.#authority.isWriting) this.#advanceWrite()
  }
}
