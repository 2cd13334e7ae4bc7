/**
 * A node in one thread of time: workers, an authority, a disk and callers, whose next step is drawn by chance.
 * Messages are late, lost and come twice; workers and the whole process crash anywhere; the clock jumps; periods end.
 */
import type { Caps } from '../src/ledger/caps.ts'
import { dayMs, SimAuthority } from './authority.ts'
import type { Bug } from './bugs.ts'
import { accounts, Callers, drawCaps, keys } from './callers.ts'
import { Chance } from './prng.ts'
import { checkClaims } from './check-idempotency.ts'
import { checkDelivered, checkRequests, checkRestored, checkSums, checkState, Tally } from './checks.ts'
import { Disk } from './disk.ts'
import type { Letter, Reply } from './messages.ts'
import { SimRequest } from './request.ts'

const stepsMost = 260

export class World {
  readonly #chance: Chance
  readonly #bug: Bug | null
  readonly #caps = new Map<string, Caps>()
  readonly #requests: SimRequest[] = []
  /** Requests whose worker lives. */
  #running: SimRequest[] = []
  #letters: Letter[] = []
  #replies: Reply[] = []
  #workers: number[] = []
  /** Workers that are gone, of whom the authority has not heard. */
  #gone: number[] = []
  #nextWorker = 1
  #now: number
  /** The latest that the clock has been. */
  #latest: number
  /** A clock that is never set. */
  #steady = 0
  readonly #callers: Callers
  /** The newest commit that each worker knows to be durable. */
  readonly #seen = new Map<number, number>()
  #disk = new Disk()
  #tally: Tally
  #authority: SimAuthority
  readonly #toldCredits = new Map<string, bigint>()
  #credits: { id: string; amount: bigint; commit: number }[] = []
  steps = 0

  constructor(seed: number, bug: Bug | null) {
    this.#chance = new Chance(seed)
    this.#bug = bug
    this.#now = 1_000 * dayMs + this.#chance.below(dayMs)
    this.#latest = this.#now
    this.#callers = new Callers(this.#chance)
    for (const account of accounts)
      for (const key of ['', ...keys[account]]) this.#caps.set(account + key, drawCaps(this.#chance))
    for (const account of accounts) this.#alignCaps(account)
    this.#tally = new Tally(this.#capsOf)
    this.#authority = this.#start()
    for (let count = 0; count < 2; count += 1) this.#workers.push(this.#nextWorker++)
    for (const account of accounts) this.#credit(account, BigInt(this.#chance.between(300, 6000)))
  }

  /** All keys of an account share its own caps. */
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

  #start(): SimAuthority {
    const authority = new SimAuthority({
      disk: this.#disk,
      now: () => this.#now,
      steady: () => this.#steady,
      capsOf: this.#capsOf,
      send: (reply) => this.#replies.push(reply),
      onEvent: (event) => this.#tally.take(event),
      bug: this.#bug,
    })
    this.#authority = authority
    authority.begin()
    return authority
  }

  #credit(account: string, amount: bigint): void {
    const id = `credit ${this.steps} ${account}`
    this.#credits.push({ id, amount, commit: this.#authority.credit(id, account, amount) })
  }

  /** Runs to the end. Throws what is broken. */
  run(): void {
    while (this.steps < stepsMost) {
      this.steps += 1
      this.#step()
      this.#check()
    }
    this.#settleDown()
    // Whatever is told by now has to survive one more crash.
    this.#crash()
    checkRequests(this.#requests, this.#disk, this.#authority.state)
    checkSums(this.#disk, this.#authority.state, this.#toldCredits)
    checkClaims(this.#requests, this.#disk)
  }

  #check(): void {
    checkState(this.#authority.state, this.#capsOf)
    for (const request of this.#running) checkDelivered(request, this.#disk)
  }

  /** One thing happens, drawn by weight. */
  #step(): void {
    const draw = this.#chance.below(1000)
    if (draw < 60) this.#ask()
    else if (draw < 330) this.#flow()
    else if (draw < 560) this.#deliverLetter()
    else if (draw < 740) this.#deliverReply()
    else if (draw < 830) this.#write()
    else if (draw < 870) this.#one()?.retry()
    else if (draw < 885) this.#one()?.leave()
    else if (draw < 935) this.#pass()
    else if (draw < 950) this.#hearOfGone()
    else if (draw < 956) this.#loseWorker()
    else if (draw < 961) this.#crash()
    else if (draw < 975) this.#credit(this.#chance.pick(accounts), BigInt(this.#chance.between(100, 800)))
    else this.#authority.misbehave()
  }

  #one(): SimRequest | undefined {
    return this.#running.length === 0 ? undefined : this.#chance.pick(this.#running)
  }

  #ask(): void {
    if (this.#running.length >= 10) return
    const worker = this.#chance.pick(this.#workers)
    const means = {
      send: (letter: Letter) => this.#letters.push(letter),
      seen: this.#seen.get(worker) ?? 0,
      bug: this.#bug,
    }
    const request = new SimRequest(`r${this.#requests.length}`, worker, this.#callers.ask(), means)
    this.#requests.push(request)
    this.#running.push(request)
  }

  #flow(): void {
    const request = this.#one()
    this.#look(request)
    request?.receive(this.#chance.between(1, this.#chance.happens(0.2) ? 150 : 30))
  }

  #look(request: SimRequest | undefined): void {
    if (!request) return
    request.look(this.#disk, { now: this.#now, latest: this.#latest })
    if (request.isOver) this.#running = this.#running.filter((each) => each !== request)
  }

  /** The next letter of some worker arrives: in order, perhaps lost, perhaps to come again later. */
  #deliverLetter(): void {
    if (this.#letters.length === 0) return
    const { worker } = this.#chance.pick(this.#letters)
    const index = this.#letters.findIndex((letter) => letter.worker === worker)
    const letter = this.#letters[index]
    if (!letter) return
    if (this.#chance.happens(0.06)) this.#letters.push(letter)
    this.#letters.splice(index, 1)
    if (this.#chance.happens(0.04)) return
    this.#authority.take(letter)
  }

  #deliverReply(): void {
    if (this.#replies.length === 0) return
    const { worker } = this.#chance.pick(this.#replies)
    const index = this.#replies.findIndex((reply) => reply.worker === worker)
    const reply = this.#replies[index]
    if (!reply) return
    this.#replies.splice(index, 1)
    if (reply.answer.kind !== 'durable') {
      if (this.#chance.happens(0.06)) this.#replies.push(reply)
      if (this.#chance.happens(0.04)) return
    }
    this.#hand(reply)
  }

  #hand({ worker, id, call, answer }: Reply): void {
    if (answer.kind === 'durable')
      this.#seen.set(worker, Math.max(answer.commit, this.#seen.get(worker) ?? 0))
    for (const request of this.#running) {
      if (request.worker === worker && (answer.kind === 'durable' || request.id === id))
        request.answered(call, answer)
    }
    this.#running = this.#running.filter((request) => !request.isOver)
  }

  #write(): void {
    if (this.#authority.isWriting) {
      this.#authority.finishWrite()
      this.#tellCredits()
    } else if (this.#authority.canWrite) this.#authority.startWrite()
  }

  #tellCredits(): void {
    const { durable } = this.#authority
    for (const { id, amount, commit } of this.#credits)
      if (commit <= durable) this.#toldCredits.set(id, amount)
    this.#credits = this.#credits.filter(({ commit }) => commit > durable)
  }

  /** Time passes, or the clock is set; often past the end of a period. */
  #pass(): void {
    const chance = this.#chance
    if (chance.happens(0.1)) this.#now += chance.between(-2 * dayMs, 2 * dayMs)
    else {
      const passed = chance.below(chance.happens(0.3) ? dayMs : dayMs / 20)
      this.#now += passed
      this.#steady += passed
    }
    this.#latest = Math.max(this.#latest, this.#now)
    if (chance.happens(0.3)) this.#disk.dropExpired(this.#now)
  }

  #loseWorker(): void {
    const worker = this.#chance.pick(this.#workers)
    this.#workers = [...this.#workers.filter((each) => each !== worker), this.#nextWorker++]
    this.#gone.push(worker)
    this.#forget((each) => each === worker)
  }

  /** The requests of these workers are cut off; what was on its way back to them is lost. */
  #forget(isLost: (worker: number) => boolean): void {
    for (const request of this.#running) if (isLost(request.worker)) request.lose()
    this.#running = this.#running.filter((request) => !request.isOver)
    this.#replies = this.#replies.filter(({ worker }) => !isLost(worker))
  }

  /** The authority hears that a worker is gone; nothing of it is heard after that. */
  #hearOfGone(): void {
    const worker = this.#gone.shift()
    if (worker === undefined) return
    this.#letters = this.#letters.filter((letter) => letter.worker !== worker)
    this.#authority.workerGone(worker)
  }

  /** Everything in memory is gone; a commit that was being written may have got to the disk. */
  #crash(): void {
    const { written } = this.#authority
    if (written && this.#chance.happens(0.5)) this.#disk.write(written)
    this.#forget(() => true)
    this.#letters = []
    this.#gone = []
    this.#credits = []
    this.#workers = [this.#nextWorker++, this.#nextWorker++]
    this.#tally = new Tally(this.#capsOf)
    for (const event of this.#disk.events()) this.#tally.take(event)
    checkRestored(this.#disk)
    this.#authority = this.#start()
    this.#check()
  }

  /** No more faults: everything that runs comes to its end. */
  #settleDown(): void {
    while (this.#gone.length > 0) this.#hearOfGone()
    for (let round = 0; round < 400 && this.#running.length > 0; round += 1) {
      for (const request of this.#running) {
        if (round % 10 === 9) request.retry()
        this.#look(request)
        request.receive(60)
      }
      for (const letter of this.#letters.splice(0)) this.#authority.take(letter)
      this.#authority.misbehave()
      for (let write = 0; write < 2; write += 1) this.#write()
      for (const reply of this.#replies.splice(0)) this.#hand(reply)
      this.#check()
    }
    if (this.#running.length > 0) throw new Error(`${this.#running.length} requests do not come to their end`)
    // What came late and twice comes after everything.
    for (const letter of this.#letters.splice(0)) this.#authority.take(letter)
    while (this.#authority.canWrite || this.#authority.isWriting) this.#write()
  }
}
