/**
 * The contract between server and console: every endpoint with its access, request and response. The server adds a
 * handler to each endpoint; the console imports the types only, and nothing at run time.
 */
import { z } from 'zod'

/**
 * `anyone`: no session needed. `person`: any signed-in user. `customer`: a user with an account, or an operator who
 * impersonates one. `operator`: operators only.
 */
export type Access = 'anyone' | 'person' | 'customer' | 'operator'
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface EndpointContract<
  Response extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  readonly method: Method
  /** Relative to /api/console, with `:name` for parameters. */
  readonly path: string
  readonly access: Access
  readonly response: Response
  readonly body: Body
  readonly query: Query
}

export type ResponseOf<Contract> =
  Contract extends EndpointContract<infer Response> ? z.output<Response> : never
/** As the client sends it: fields with defaults are optional. */
export type BodyOf<Contract> =
  Contract extends EndpointContract<z.ZodType, infer Body> ? z.input<Body> : never
export type QueryOf<Contract> =
  Contract extends EndpointContract<z.ZodType, z.ZodType, infer Query> ? z.input<Query> : never

const emptySchema = z.strictObject({})
type EmptySchema = typeof emptySchema

/** Takes `['POST', '/sign-in', 'anyone']` and the schemas. Without a schema, body and query must be empty. */
export function defineEndpoint<
  Response extends z.ZodType,
  Body extends z.ZodType = EmptySchema,
  Query extends z.ZodType = EmptySchema,
>(
  [method, path, access]: readonly [Method, string, Access],
  schemas: { readonly response: Response; readonly body?: Body; readonly query?: Query },
): EndpointContract<Response, Body, Query> {
  // If a schema is omitted, `Body` or `Query` is the type of `emptySchema`.
  const {
    response,
    body = emptySchema as z.ZodType as Body,
    query = emptySchema as z.ZodType as Query,
  } = schemas
  return { method, path, access, response, body, query }
}
