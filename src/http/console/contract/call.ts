/**
 * The contract between server and console: every call with who may make it and what goes in and comes out. The server
 * binds each call to what carries it out; the console takes the types, and nothing of it at run time.
 */
import { z } from 'zod'

/**
 * `anyone`: also without a session. `person`: whoever is signed in. `customer`: a person with an account, or an operator
 * who looks at one. `operator`: who runs the relay.
 */
export type Who = 'anyone' | 'person' | 'customer' | 'operator'
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Call<
  Answer extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  readonly method: Method
  /** Under /api/console, with `:name` for what varies. */
  readonly path: string
  readonly who: Who
  readonly answer: Answer
  readonly body: Body
  readonly query: Query
}

export type AnswerOf<One> = One extends Call<infer Answer> ? z.output<Answer> : never
/** As it is sent, with its defaults left out. */
export type BodyOf<One> = One extends Call<z.ZodType, infer Body> ? z.input<Body> : never
export type QueryOf<One> = One extends Call<z.ZodType, z.ZodType, infer Query> ? z.input<Query> : never

const nothing = z.strictObject({})
type Nothing = typeof nothing

/** `['POST', '/sign-in', 'anyone']` and its shapes; without a body or a query none is taken. */
export function call<
  Answer extends z.ZodType,
  Body extends z.ZodType = Nothing,
  Query extends z.ZodType = Nothing,
>(
  [method, path, who]: readonly [Method, string, Who],
  shapes: { readonly answer: Answer; readonly body?: Body; readonly query?: Query },
): Call<Answer, Body, Query> {
  // Where none is named, `Body` and `Query` are the type of `nothing`.
  const { answer, body = nothing as z.ZodType as Body, query = nothing as z.ZodType as Query } = shapes
  return { method, path, who, answer, body, query }
}
