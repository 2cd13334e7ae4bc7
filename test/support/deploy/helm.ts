/** Renders the Helm chart: with Helm if it is installed, otherwise with the part of its template language that we use. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { root } from '../source-files.ts'

export type Json = Readonly<Record<string, unknown>>

const chart = join(root, 'deploy/helm')
const hasHelm = spawnSync('helm', ['version']).status === 0

/** The value at a dotted path. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => (found as Json | undefined)?.[name], value)
}

export function chartValues(): Json {
  return parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Json
}

/** A copy with the value at a dotted path. */
export function withValue(values: Json, [path, value]: readonly [string, unknown]): Json {
  const [name = '', ...rest] = path.split('.')
  const inner = rest.length === 0 ? value : withValue((values[name] ?? {}) as Json, [rest.join('.'), value])
  return { ...values, [name]: inner }
}

/** Renders values, `range`, `if`, `quote`, `sha256sum` and `toYaml … | nindent`. */
function renderTemplate(template: string, context: Json): string {
  const value = (path: string): unknown => valueAt(context, path.replace(/^\$?\./, ''))
  const withRanges = template.replace(
    /\{\{- range \$name, \$value := (\S+) \}\}([\s\S]*?)\{\{- end \}\}/g,
    (_whole, path: string, inner: string) =>
      Object.entries(value(path) as Json)
        .map(([name, each]) =>
          inner.replace('{{ $name }}', name).replace('{{ $value | quote }}', JSON.stringify(String(each))),
        )
        .join(''),
  )
  const withLists = withRanges.replace(
    /\{\{- range \$(\w+) := (\S+) \}\}([\s\S]*?)\{\{- end \}\}/g,
    (_whole, name: string, path: string, inner: string) =>
      (value(path) as string[]).map((each) => inner.replaceAll(`{{ $${name} }}`, each)).join(''),
  )
  const withIfs = withLists.replace(
    /\{\{- if (?:gt \(int (\S+)\) 1|(\S+)) \}\}([\s\S]*?)\{\{- end \}\}/g,
    (_whole, many: string | undefined, path: string | undefined, inner: string) =>
      (many === undefined ? value(path ?? '') : Number(value(many)) > 1) ? inner : '',
  )
  const withBlocks = withIfs.replace(
    /\s*\{\{- toYaml (\S+) \| nindent (\d+) \}\}/g,
    (_whole, path: string, indent: string) => {
      const lines = JSON.stringify(value(path), null, 2).split('\n')
      return `\n${lines.map((line) => ' '.repeat(Number(indent)) + line).join('\n')}`
    },
  )
  const withSums = withBlocks.replace(/\{\{ toYaml (\S+) \| sha256sum \}\}/g, (_whole, path: string) =>
    createHash('sha256')
      .update(JSON.stringify(value(path)))
      .digest('hex'),
  )
  return withSums.replace(/\{\{ (\S+) \}\}/g, (_whole, path: string) => {
    const found = value(path)
    assert.ok(typeof found === 'string' || typeof found === 'number', `${path} has no value`)
    return String(found)
  })
}

/** The objects that `helm install relay deploy/helm --set …` creates. */
export function renderChart(set: Readonly<Record<string, string | number | boolean>>): Json[] {
  const pairs = Object.entries(set)
  const texts = hasHelm
    ? [
        execFileSync(
          'helm',
          ['template', 'relay', chart, ...pairs.flatMap(([path, value]) => ['--set', `${path}=${value}`])],
          { encoding: 'utf8' },
        ),
      ]
    : globSync('templates/*.yaml', { cwd: chart }).map((path) =>
        renderTemplate(readFileSync(join(chart, path), 'utf8'), {
          Values: pairs.reduce(withValue, chartValues()),
          Release: { Name: 'relay' },
        }),
      )
  return texts
    .flatMap((text) => parseAllDocuments(text))
    .map((document) => {
      assert.deepEqual(document.errors, [])
      return document.toJS() as Json
    })
}
