/**
 * What every endpoint of the admin API and the console API declares: its audience, path, schemas, OpenAPI texts and
 * handler. `define-endpoints.ts` has the builder; `serve.ts` authenticates by the audience and calls the endpoint.
 *
 *     admin.patch('/tiers/{name}', {
 *       summary: 'Update a tier; null: unlimited',
 *       body: tierPatch,
 *       response: tierView,
 *       handle: ({ ctx, by, params, body, publish }) => publish(updateTier(ctx.db, params.name, toPatch(body), by)),
 *     })
 */
import type { z } from 'zod'
import type { Changed } from '../../db/change.ts'
import type { AppContext } from '../app-context.ts'
import type { CsvColumn, CsvColumns } from '../csv-export.ts'

/**
 * `anyone`: no session needed. `person`: any signed-in user. `customer`: a user with an account, or an operator who
 * impersonates one. `operator`: operators only. `admin`: callers of the admin API, that is its key, operators' sessions
 * and commands.
 */
export type Audience = 'anyone' | 'person' | 'customer' | 'operator' | 'admin'

/** A resource in JSON: the one schema of all endpoints that show it, and its values. */
export interface View<Value, Schema extends z.ZodType = z.ZodType> {
  /** Its name in descriptions and errors. */
  readonly noun: string
  readonly schema: Schema
  readonly serialize: (value: Value, ctx: AppContext) => Awaitable<z.input<Schema>>
}

/** What an endpoint returns: a view of what its handler returns, or JSON of this schema. */
export type Responded = View<never> | z.ZodType
export type SchemaOf<R> = R extends View<never, infer Schema> ? Schema : R extends z.ZodType ? R : never
/** undefined: not found. */
type Returned<R> = R extends View<infer Value> ? Value | undefined : R extends z.ZodType ? z.input<R> : never
type ItemOf<R> = Exclude<Returned<R>, undefined>
type RowOf<Schema> = z.output<Schema> extends { data: (infer Row extends object)[] } ? Row : never
type Awaitable<Value> = Value | Promise<Value>

type NamesIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
export type NoFields = Record<never, never>

/** The validated input of a handler. */
interface HandlerInput<Path, Query extends z.ZodRawShape, Body extends z.ZodType> {
  readonly params: Readonly<Record<NamesIn<Path>, string>>
  readonly query: z.output<z.ZodObject<Query>>
  readonly body: z.output<Body>
  /** Waits for a write and publishes its changes to every thread. Returns the written value. */
  readonly publish: <Value>(write: Promise<Changed<Value>>) => Promise<Value>
}

interface Description {
  /** The admin API, which has an OpenAPI document, describes all of its endpoints. */
  readonly summary?: string
  readonly description?: string
  /** What the response is; by default in terms of its view: "The tier." */
  readonly returns?: string
}

export interface Declaration<
  Context,
  Path,
  R,
  Query extends z.ZodRawShape,
  Body extends z.ZodType,
> extends Description {
  /** Without it, query parameters are ignored, unless the builder has a default; likewise the body. */
  readonly query?: Query
  readonly body?: Body
  readonly response: R
  /** The media type of a handler that returns a `Response`. Default: JSON. */
  readonly mediaType?: string
  /** Of a list, the columns of its export at its path with `.csv`; without them, there is none. */
  readonly csv?: readonly CsvColumn<RowOf<SchemaOf<R>>>[]
  /** Describes the response 200 of a call that had taken effect before; `isNew` of the value decides. */
  readonly existing?: string
  /** Impersonation only reads: an operator changes nothing in a customer's name, but may end the impersonation. */
  readonly endsImpersonation?: boolean
  readonly handle: (context: Context & HandlerInput<Path, Query, Body>) => Awaitable<Returned<R> | Response>
}

export interface ListDeclaration<R, Query extends z.ZodRawShape> extends Description {
  readonly item: R
  readonly filters?: Query
  readonly csv?: readonly CsvColumn<z.output<SchemaOf<R>> & object>[]
}

/** A list that always comes in pages. */
export interface PageDeclaration<Context, Path, R, Query extends z.ZodRawShape> extends ListDeclaration<
  R,
  Query
> {
  /** The pattern of its cursors. */
  readonly cursor: RegExp
  readonly handle: (
    context: Context & HandlerInput<Path, Query, z.ZodUndefined> & { readonly page: PagePosition },
  ) => Promise<Page<ItemOf<R>>>
}

/** A short list, which comes in pages only on request. */
export interface ShortListDeclaration<Context, Path, R, Query extends z.ZodRawShape> extends ListDeclaration<
  R,
  Query
> {
  readonly idOf: (item: ItemOf<R>) => string
  readonly handle: (
    context: Context & HandlerInput<Path, Query, z.ZodUndefined>,
  ) => Awaitable<readonly ItemOf<R>[]>
}

export interface DeleteDeclaration<Context, Path> extends Description {
  /** Returns the id of what was deleted if it is not the last parameter of the path. */
  readonly handle: (context: Context & HandlerInput<Path, NoFields, z.ZodUndefined>) => Promise<unknown>
}

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
}

interface PagePosition {
  readonly limit: number
  readonly cursor: string | undefined
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The input as received. */
export interface RawInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** Not called if the endpoint has no body. */
  body(): Promise<unknown>
}

export interface Endpoint<
  Context = never,
  Response extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  readonly audience: Audience
  readonly method: Method
  /** Relative to the API, with `{name}` for parameters. */
  readonly path: string
  readonly summary: string
  readonly description?: string | undefined
  readonly query: Query | undefined
  readonly body: Body | undefined
  readonly status: 200 | 201
  readonly response: Response
  readonly returns: string
  readonly mediaType: string
  readonly existing: string | undefined
  readonly csv: CsvColumns | undefined
  readonly endsImpersonation: boolean
  /** Validates the input and calls the handler. `context` is that of one request, made for the audience. */
  run(context: Context, input: RawInput): Promise<{ readonly status: 200 | 201; readonly value: unknown }>
}

/** The part of every audience's context that this file uses. */
export interface BaseContext {
  readonly ctx: AppContext
}
