/** Which endpoints of the admin API no test calls: read from the code of the tests and the OpenAPI document. */
import { readSnapshot } from '../interface-snapshot.ts'
import type { SourceFile } from '../source-files.ts'

const prefix = '/api/admin'

const path = String.raw`(?:/api/admin)?(/(?:\$\{[^}]*\}|\{\w+\}|[^'"\`?\s])*)`
/** A method and a path, as two arguments or in one text: `'POST', '/orders'`, `'POST /orders'`. */
const call = new RegExp(String.raw`'(GET|POST|PUT|PATCH|DELETE)(?:',\s*['"\`]| )${path}`, 'g')
/** A method and the name of a constant that is a path. */
const callOfConstant = /'(GET|POST|PUT|PATCH|DELETE)',\s*(\w+)/g
const constant = new RegExp(String.raw`\bconst (\w+) =\s*['"\`]${path}['"\`?]`, 'g')

/** `GET /orders/x`, with `x` in place of ids, and without a query. */
function callsIn({ uncommented }: SourceFile): string[] {
  const constants = Array.from(
    uncommented.matchAll(constant),
    ([, name = '', value = '']) => [name, value] as const,
  )
  const calls = [
    ...Array.from(uncommented.matchAll(call), ([, method = '', value = '']) => [method, value] as const),
    ...Array.from(uncommented.matchAll(callOfConstant), ([, method = '', used = '']) =>
      constants.filter(([name]) => name === used).map(([, value]) => [method, value] as const),
    ).flat(),
  ]
  return calls.map(
    ([method, value]) =>
      `${method} ${value.replace(/(?<=\w)\$\{[^}]*\}$/, '').replaceAll(/\$?\{[^}]*\}/g, 'x')}`,
  )
}

/** `GET /orders/{id}`; `files` are those whose calls count. CSV exports are all called by csv-exports.test.ts. */
export function findUncalledEndpoints(files: readonly SourceFile[]): string[] {
  const calls = [...new Set(files.flatMap(callsIn))]
  const { paths } = readSnapshot('endpoints')['openapi'] as { paths: Record<string, object> }
  return Object.entries(paths)
    .filter(([path]) => path.startsWith(prefix) && !path.endsWith('.csv'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(prefix, '')}`),
    )
    .filter((endpoint) => {
      const called = new RegExp(`^${endpoint.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      return !calls.some((each) => called.test(each))
    })
}
