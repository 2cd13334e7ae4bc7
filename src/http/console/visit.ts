/**
 * One call of the console as those who carry it out see it: who asks, from where, and what, checked before they are
 * called. Binding a call of the contract to its work is the only way to make a route, so none is without its check.
 */
import type { Context, Hono } from 'hono'
import type { z } from 'zod'
import type { Account } from '../../accounts/accounts.ts'
import { refuse } from '../../errors.ts'
import { actorOf, type Person } from '../../users/users.ts'
import { signedInBy, type Session, type SignedIn } from '../../users/sessions.ts'
import { refusalOfZod } from '../admin/problems.ts'
import type { Callers } from '../caller.ts'
import type { House } from '../house.ts'
import type { Mailer } from '../../lib/email.ts'
import type { Call, Who } from './contract/call.ts'
import { tokenIn } from './cookie.ts'
import { checkSameSite } from './auth/csrf.ts'

export interface ConsoleDesk {
  readonly house: House
  readonly callers: Callers
  /** null: no mail is sent. */
  readonly mailer: Mailer | null
  /** Told about errors that are bugs of ours; the caller sees nothing of them. */
  readonly onBug: (error: unknown, requestId: string) => void
}

/** What the listener hands to the application beside the request. */
export interface Surroundings {
  /** The address at the other end of the connection. */
  readonly peer: string | undefined
}

export type ConsoleContext = Context<{ Bindings: Surroundings }>
export type ConsoleApp = Hono<{ Bindings: Surroundings }>

/** The account whose pages a signed-in person sees: the own, or the one that an operator has signed in as. */
export function accountIdOf({ person, session }: SignedIn): string | null {
  return person.role === 'operator' && session.actingAccount !== null
    ? session.actingAccount
    : person.accountId
}

/** A signed-in person as the audit log names who acts, and as whom. */
export function actorIn(signedIn: SignedIn): string {
  const actor = actorOf(signedIn.person)
  return signedIn.session.actingAccount === null ? actor : `${actor} as ${signedIn.session.actingAccount}`
}

export class Visit<One extends Call = Call> {
  readonly desk: ConsoleDesk
  readonly context: ConsoleContext
  readonly body: z.output<One['body']>
  readonly query: z.output<One['query']>
  /** null: a stranger. */
  readonly signedIn: SignedIn | null

  constructor(
    desk: ConsoleDesk,
    { context, signedIn }: { readonly context: ConsoleContext; readonly signedIn: SignedIn | null },
    given: { readonly body: z.output<One['body']>; readonly query: z.output<One['query']> },
  ) {
    this.desk = desk
    this.context = context
    this.signedIn = signedIn
    this.body = given.body
    this.query = given.query
  }

  get house(): House {
    return this.desk.house
  }

  /** Throws 401 for a stranger. */
  get present(): SignedIn {
    if (this.signedIn === null) throw refuse('session_required')
    return this.signedIn
  }

  get person(): Person {
    return this.present.person
  }

  get session(): Session {
    return this.present.session
  }

  /** Who acts, as the audit log names it. */
  get by(): string {
    return actorIn(this.present)
  }

  /** Whose pages these are. Throws 403 for an operator who looks at no account. */
  get accountId(): string {
    const id = accountIdOf(this.present)
    if (id === null) throw refuse('no_account')
    return id
  }

  /** As every thread of this worker knows it. */
  get account(): Account {
    const account = this.house.directory.account(this.accountId)
    if (account === undefined) throw refuse('no_account')
    return account
  }

  /** Where the call comes from, behind trusted proxies. */
  get address(): string {
    const { peer } = this.context.env
    return this.desk.callers.addressOf(peer, this.context.req.header('x-forwarded-for'))
  }

  /** What stands in the path at `:name`. */
  param(name: string): string {
    return this.context.req.param(name) ?? ''
  }
}

/** Whose session the cookie is. */
export async function visitorOf(
  { house }: ConsoleDesk,
  cookies: string | undefined,
): Promise<SignedIn | null> {
  const token = tokenIn(house.config, cookies)
  return token === undefined || token === '' ? null : ((await signedInBy(house.db, token)) ?? null)
}

/** Throws 401 for strangers and 403 for those who may not, where a call is not for anyone. */
export function checkWho(who: Who, signedIn: SignedIn | null): void {
  if (who === 'anyone') return
  if (signedIn === null) throw refuse('session_required')
  if (who === 'operator' && signedIn.person.role !== 'operator') throw refuse('operators_only')
  if (who === 'customer' && accountIdOf(signedIn) === null) throw refuse('no_account')
}

async function checked<Shape extends z.ZodType>(shape: Shape, given: unknown): Promise<z.output<Shape>> {
  const result = await shape.safeParseAsync(given)
  if (!result.success) throw refusalOfZod(result.error)
  return result.data
}

async function bodyOf(context: ConsoleContext): Promise<unknown> {
  const text = await context.req.text()
  if (text === '') return {}
  const type = context.req.header('content-type') ?? ''
  if (!/^application\/json\b/i.test(type)) throw refuse('unsupported_media_type')
  try {
    return JSON.parse(text)
  } catch {
    throw refuse('invalid_json')
  }
}

/** Who comes in, checked; for calls that do not answer JSON. */
export async function comeIn(desk: ConsoleDesk, who: Who, context: ConsoleContext): Promise<SignedIn | null> {
  const { method } = context.req
  checkSameSite(desk.house.config, { method, header: (name) => context.req.header(name) })
  const signedIn = await visitorOf(desk, context.req.header('cookie'))
  checkWho(who, signedIn)
  return signedIn
}

/** A call with what carries it out. */
export interface Bound {
  readonly call: Call
  readonly run: (visit: Visit) => Promise<unknown>
}

export function bound<One extends Call>(
  call: One,
  run: (visit: Visit<One>) => Promise<z.input<One['answer']>>,
): Bound {
  // What a call's own shapes have checked is what its own work takes: `route` below puts them together.
  return { call, run }
}

/** Makes the route of a bound call. */
export function route(app: ConsoleApp, desk: ConsoleDesk, { call, run }: Bound): void {
  app.on(call.method, call.path, async (context) => {
    const signedIn = await comeIn(desk, call.who, context)
    const body = call.method === 'GET' ? {} : await checked(call.body, await bodyOf(context))
    const query = await checked(call.query, context.req.query())
    const answer = await run(new Visit(desk, { context, signedIn }, { body, query }))
    return context.json(answer as object)
  })
}
