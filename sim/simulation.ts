/**
 * Simulates a node in a single thread: workers, an authority, a disk and callers, with a random next step.
 * Messages are delayed, lost and repeated; workers and the whole process crash anywhere; the clock jumps;
 * periods end.
 */
import type { Caps } from '../src/ledger/caps.ts'
import { SimAuthority } from './authority.ts'
import type { Bug } from './bugs.ts'
import { accounts, Callers, drawCaps } from './callers.ts'
import { Prng } from './prng.ts'
import { checkLateBills } from './check-late-bills.ts'
import { EventChecks } from './event-checks.ts'
import { checkClaims } from './check-idempotency.ts'
import {
  checkDelivered,
  checkRequests,
  checkRestored,
  checkSums,
  checkState,
  ReferenceModel,
} from './checks.ts'
import { SimClock } from './clock.ts'
import { SimCredits } from './credits.ts'
import { SimDisk } from './disk.ts'
import type { SimHoldOptions, SimMessage, SimReply } from './messages.ts'
import { SimRequest } from './request.ts'

const maxSteps = 260

export class Simulation {
  readonly #prng: Prng
  readonly #bug: Bug | null
  readonly #caps: ReadonlyMap<string, Caps>
  readonly #requests: SimRequest[] = []
  /** Requests whose worker is alive. */
  #running: SimRequest[] = []
  #messages: SimMessage[] = []
  #replies: SimReply[] = []
  #workers: number[] = []
  /** Workers that have died without the authority knowing it yet. */
  #lostWorkers: number[] = []
  #nextWorker = 1
  /** Requests of workers that are only frozen, and have not come back yet. */
  #frozen: SimRequest[] = []
  readonly #clock: SimClock
  readonly #callers: Callers
  /** The newest commit that each worker knows to be durable. */
  readonly #durableCommits = new Map<number, number>()
  #disk = new SimDisk()
  #referenceModel: ReferenceModel
  #authority: SimAuthority
  readonly #credits: SimCredits
  steps = 0

  constructor(seed: number, bug: Bug | null) {
    this.#prng = new Prng(seed)
    this.#bug = bug
    this.#clock = new SimClock(this.#prng)
    this.#callers = new Callers(this.#prng)
    this.#caps = drawCaps(this.#prng)
    this.#referenceModel = new ReferenceModel(this.#capsOf, this.#optionsOf)
    this.#authority = this.#start()
    this.#credits = new SimCredits({
      prng: this.#prng,
      bug,
      disk: this.#disk,
      now: () => this.#clock.now,
      authority: () => this.#authority,
    })
    for (let count = 0; count < 2; count += 1) this.#workers.push(this.#nextWorker++)
    for (const account of accounts) this.#credits.credit(account, BigInt(this.#prng.between(300, 6000)))
  }

  readonly #capsOf = (account: string, key: string): Caps => {
    const caps = this.#caps.get(account + key)
    if (!caps) throw new Error(`no caps of ${account} ${key}`)
    return caps
  }

  readonly #optionsOf = (id: string): SimHoldOptions | undefined => this.#requestOf(id)?.script.options

  #start(): SimAuthority {
    const checks = new EventChecks(this.#referenceModel, {
      capsOf: this.#capsOf,
      requestOf: (id) => this.#requestOf(id),
      monotonicNow: () => this.#clock.monotonicMs,
    })
    const authority = new SimAuthority({
      disk: this.#disk,
      now: () => this.#clock.now,
      monotonicNow: () => this.#clock.monotonicMs,
      capsOf: this.#capsOf,
      send: (reply) => this.#replies.push(reply),
      onEvent: (event, isExpiry) => checks.onEvent(event, { isExpiry, state: this.#authority.state }),
      bug: this.#bug,
    })
    this.#authority = authority
    authority.recover()
    return authority
  }

  #requestOf(id: string): SimRequest | undefined {
    return this.#requests[Number(id.slice(1))]
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
    checkSums(this.#disk, this.#authority.state, this.#credits.confirmed)
    this.#credits.check()
    checkClaims(this.#requests, this.#disk)
    checkLateBills(this.#requests, this.#disk)
  }

  #check(): void {
    checkState(this.#authority.state, this.#capsOf, this.#referenceModel)
    for (const request of this.#running) checkDelivered(request, this.#disk)
  }

  /** One random step, drawn by weight. */
  #step(): void {
    const draw = this.#prng.below(1000)
    if (draw < 60) this.#startRequest()
    else if (draw < 68) this.#credits.payBack()
    else if (draw < 330) this.#receiveTokens()
    else if (draw < 560) this.#deliverMessage()
    else if (draw < 740) this.#deliverReply()
    else if (draw < 830) this.#advanceWrite()
    else if (draw < 870) this.#pickRequest()?.retry()
    else if (draw < 885) this.#pickRequest()?.disconnect()
    else if (draw < 935) this.#advanceClock()
    else if (draw < 950) this.#reportLostWorker()
    else if (draw < 957) this.#loseWorker()
    else if (draw < 961) this.#crash()
    else if (draw < 970) this.#credits.credit(this.#prng.pick(accounts), BigInt(this.#prng.between(100, 800)))
    else if (draw < 985) this.#thaw()
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
    request.lookUpResponse(this.#disk, this.#clock)
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
      this.#credits.onDurable()
    } else if (this.#authority.canWrite) this.#authority.startWrite()
  }

  #advanceClock(): void {
    this.#clock.advance()
    if (this.#prng.bool(0.3)) this.#disk.dropExpired(this.#clock.now)
  }

  #loseWorker(): void {
    const worker = this.#prng.pick(this.#workers)
    this.#workers = [...this.#workers.filter((each) => each !== worker), this.#nextWorker++]
    this.#lostWorkers.push(worker)
    if (this.#prng.bool(0.6))
      this.#frozen.push(...this.#running.filter((request) => request.worker === worker))
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

  /** A worker that was only frozen comes back, and settles what its upstream has billed since. */
  #thaw(): void {
    const request = this.#frozen.find(({ worker }) => !this.#lostWorkers.includes(worker))
    if (!request) return
    if (this.#prng.bool(0.8)) this.#frozen = this.#frozen.filter((each) => each !== request)
    const operation = { kind: 'settle', ...request.billLate(), stored: null } as const
    this.#authority.handle({ worker: request.worker, call: 0, id: request.id, operation })
  }

  /** Everything in memory is lost. A commit being written may have reached the disk. */
  #crash(): void {
    const { commitBeingWritten } = this.#authority
    if (commitBeingWritten && this.#prng.bool(0.5)) this.#disk.write(commitBeingWritten)
    this.#dropWorkers(() => true)
    this.#messages = []
    this.#lostWorkers = []
    this.#frozen = []
    this.#credits.onCrash()
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
