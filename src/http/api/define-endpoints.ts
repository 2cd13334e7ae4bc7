/** The builder of endpoints: `endpointsFor(audience)` has a function for each method, for lists and for deletions. */
import { z } from '@hono/zod-openapi'
import type { Changed } from '../../db/change.ts'
import { notFound } from '../../errors.ts'
import type { AppContext } from '../app-context.ts'
import { namedColumns } from '../csv-export.ts'
import type {
  Audience,
  BaseContext,
  Declaration,
  DeleteDeclaration,
  Endpoint,
  ListDeclaration,
  Method,
  NoFields,
  Page,
  PageDeclaration,
  Responded,
  SchemaOf,
  ShortListDeclaration,
  View,
} from './endpoint.ts'
import { decodeCursor, encodeCursor } from './json-values.ts'
import { optionalPageFields, paginate, type PageQuery } from './pagination.ts'
import { requireValidText } from './text-input.ts'
import { apiErrorFromZod } from './thrown-errors.ts'

type Define<Context> = <
  Path extends string,
  R extends Responded,
  Query extends z.ZodRawShape = NoFields,
  Body extends z.ZodType = z.ZodUndefined,
>(
  path: Path,
  declaration: Declaration<Context, Path, R, Query, Body>,
) => Endpoint<Context, SchemaOf<R>, Body, z.ZodObject<Query>>

export function view<Value, Schema extends z.ZodType>(
  noun: string,
  schema: Schema,
  serialize: View<Value, Schema>['serialize'],
): View<Value, Schema> {
  return { noun, schema, serialize }
}

function isView(response: Responded): response is View<never> {
  return 'serialize' in response
}

function nounOf(response: Responded): string {
  return isView(response) ? response.noun : 'result'
}

async function validate(schema: z.ZodType, value: unknown): Promise<unknown> {
  const result = await schema.safeParseAsync(value)
  if (!result.success) throw apiErrorFromZod(result.error)
  requireValidText(result.data)
  return result.data
}

/** Shows only the fields of the schema. Throws 404 if a view has no value. */
async function serialize(response: Responded, value: unknown, ctx: AppContext): Promise<unknown> {
  if (value instanceof Response) return value
  if (!isView(response)) return pickFields(response, value)
  const { noun } = response
  if (value === undefined) throw notFound(`${noun.charAt(0).toUpperCase()}${noun.slice(1)}`)
  return pickFields(response.schema, await response.serialize(value as never, ctx))
}

function pickFields(schema: z.ZodType, json: unknown): unknown {
  if (json === null || json === undefined) return json
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly || schema instanceof z.ZodOptional)
    return pickFields(schema.unwrap() as z.ZodType, json)
  if (schema instanceof z.ZodArray)
    return (json as unknown[]).map((item) => pickFields(schema.element as z.ZodType, item))
  if (!(schema instanceof z.ZodObject)) return json
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape
  const shown = Object.entries(json).flatMap(([name, value]: [string, unknown]) => {
    const field = shape[name]
    return field === undefined ? [] : [[name, pickFields(field, value)]]
  })
  return Object.fromEntries(shown) as object
}

const deleted = z.object({ id: z.string(), deleted: z.literal(true) })
const defaultReturns = { get: 'The', post: 'The', put: 'The updated', patch: 'The updated', delete: 'The' }

interface Kind {
  readonly audience: Audience
  readonly method: Method
  readonly status: 200 | 201
}

/** The types of a declaration are checked where it is made; from here on, they are those that its schemas validate. */
type AnyDeclaration = Declaration<never, string, Responded, z.ZodRawShape, z.ZodType>

function build(
  { audience, method, status }: Kind,
  path: string,
  declaration: AnyDeclaration,
): Endpoint<BaseContext> {
  const {
    summary = '',
    description,
    body,
    response,
    existing,
    mediaType = 'application/json',
    csv,
  } = declaration
  const query = declaration.query && z.strictObject(declaration.query)
  return {
    audience,
    method,
    path,
    summary,
    description,
    query,
    body,
    status,
    response: isView(response) ? response.schema : response,
    returns: declaration.returns ?? `${defaultReturns[method]} ${nounOf(response)}.`,
    mediaType,
    existing,
    csv: csv && namedColumns<never>(csv),
    endsImpersonation: declaration.endsImpersonation ?? false,
    async run(context, input) {
      const values = {
        query: query && (await validate(query, input.query)),
        params: await validate(z.record(z.string(), z.string()), input.params),
        body: body && (await validate(body, await input.body())),
        publish: (write: Promise<Changed<unknown>>) => writeAndPublish(context, write),
      }
      const value = await declaration.handle(Object.assign(context, values) as never)
      const isExisting = existing !== undefined && !(value as { readonly isNew: boolean }).isNew
      return { status: isExisting ? 200 : status, value: await serialize(response, value, context.ctx) }
    },
  }
}

/** Erased like `AnyDeclaration`. */
type AnyList = Omit<ListDeclaration<Responded, z.ZodRawShape>, 'csv'> & Pick<AnyDeclaration, 'csv'>

interface ListKind {
  readonly audience: Audience
  readonly fields: z.ZodRawShape
  /** In the description of the response. */
  readonly amount: 'All' | 'A page of'
}

/** A list whose query has the fields of pages and its filters; `read` returns one page of values. */
function buildList(
  { audience, fields, amount }: ListKind,
  path: string,
  { item, filters, ...description }: AnyList,
  read: (context: BaseContext, query: PageQuery) => Promise<Page<unknown>>,
): Endpoint<BaseContext> {
  const schema = isView(item) ? item.schema : item
  const list: AnyDeclaration = {
    returns: `${amount} ${nounOf(item)}s.`,
    ...description,
    query: { ...fields, ...filters },
    response: z.object({ data: z.array(schema), next: z.string().nullable() }),
    async handle(context: BaseContext & { readonly query: PageQuery }) {
      const { data, next } = await read(context, context.query)
      return { data: await Promise.all(data.map((value) => serialize(item, value, context.ctx))), next }
    },
  }
  return build({ audience, method: 'get', status: 200 }, path, list)
}

type ListSchema<R> = z.ZodObject<{ data: z.ZodArray<SchemaOf<R>>; next: z.ZodNullable<z.ZodString> }>
type ListEndpoint<Context, R, Query extends z.ZodRawShape> = Endpoint<
  Context,
  ListSchema<R>,
  z.ZodUndefined,
  z.ZodObject<Query & typeof optionalPageFields>
>

/**
 * The endpoints of an audience. `Context`: what `serve.ts` gets for each request of this audience. `defaults`: of
 * endpoints that declare no query or no body.
 */
export function endpointsFor<Context extends BaseContext>(
  audience: Audience,
  pageFields: z.ZodRawShape,
  { query, body }: Pick<AnyDeclaration, 'query' | 'body'> = {},
) {
  const verb = (method: Method, status: 200 | 201 = 200): Define<Context> =>
    ((path: string, declaration: AnyDeclaration) => {
      const defaults = { ...(query && { query }), ...(body && method !== 'get' && { body }) }
      return build({ audience, method, status }, path, { ...defaults, ...declaration })
    }) as never
  const remove = verb('delete')
  return {
    get: verb('get'),
    post: verb('post'),
    /** A POST that responds with 201. */
    create: verb('post', 201),
    put: verb('put'),
    patch: verb('patch'),
    /** A DELETE with a response of its own. */
    remove,

    /** Responds with the id of what was deleted. */
    delete: <Path extends string>(path: Path, declaration: DeleteDeclaration<Context, Path>) =>
      remove(path, {
        returns: 'Deleted.',
        ...declaration,
        response: deleted,
        async handle(context) {
          const id = await declaration.handle(context)
          const last = Object.values<string>(context.params).at(-1) ?? ''
          return { id: typeof id === 'string' ? id : last, deleted: true as const }
        },
      }),

    page<Path extends string, R extends Responded, Query extends z.ZodRawShape = NoFields>(
      path: Path,
      { cursor: pattern, handle, ...list }: PageDeclaration<Context, Path, R, Query>,
    ): ListEndpoint<Context, R, Query> {
      const kind = { audience, fields: pageFields, amount: 'A page of' } as const
      const endpoint = buildList(kind, path, list, async (context, query) => {
        const page = { limit: query.limit ?? 0, cursor: decodeCursor(query.cursor, pattern) }
        const { data, next } = await handle(Object.assign(context, { page }) as never)
        return { data, next: encodeCursor(next) }
      })
      return endpoint as never
    },

    list<Path extends string, R extends Responded, Query extends z.ZodRawShape = NoFields>(
      path: Path,
      { idOf, handle, ...list }: ShortListDeclaration<Context, Path, R, Query>,
    ): ListEndpoint<Context, R, Query> {
      const kind = { audience, fields: optionalPageFields, amount: 'All' } as const
      const endpoint = buildList(kind, path, list, async (context, query) =>
        paginate(await handle(context as never), query, idOf),
      )
      return endpoint as never
    },
  }
}

/** Waits for a write and publishes its changes to every thread. Returns the written value. */
async function writeAndPublish<Value>(
  { ctx }: { readonly ctx: Pick<AppContext, 'publishChanges'> },
  write: Promise<Changed<Value>>,
): Promise<Value> {
  const { value, changes } = await write
  await ctx.publishChanges(changes)
  return value
}
