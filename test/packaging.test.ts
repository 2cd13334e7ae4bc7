/**
 * What the project is shipped in: the image's steps in a clean folder, the files of compose, Helm, systemd and nginx.
 * No engine runs them here; each is checked as far as that goes.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'

import { settings } from '../src/config.ts'
import { cert, key } from '../src/lib/certificate.fixture.ts'
import { freePort } from './dead-ends.ts'
import { RelayProcess } from './relay-process.ts'
import { root } from './source-tree.ts'

type Json = Readonly<Record<string, unknown>>

const known = new Set<string>(Object.values(settings).map(({ env }) => env))
/** Read by Node itself. */
const ofNode = new Set(['NODE_ENV', 'NODE_COMPILE_CACHE'])

function text(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'sluice-story-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => (found as Json | undefined)?.[name], value)
}

function areSettings(names: Iterable<string>, where: string): void {
  for (const name of names) assert.ok(known.has(name) || ofNode.has(name), `${where}: ${name} is no setting`)
}

/** What Docker would send to the build: `.dockerignore` read as Docker reads it, the last line that fits deciding. */
function sentToBuild(path: string): boolean {
  let isSent = true
  for (const line of text('.dockerignore').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const isException = line.startsWith('!')
    const pattern = isException ? line.slice(1) : line
    if (pattern === '*' || matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`))
      isSent = isException
  }
  return isSent
}

/** The folders of the packages that run without the tools of development. */
function productionPackages(): string[] {
  const lock = JSON.parse(text('package-lock.json')) as { packages: Record<string, Json> }
  return Object.entries(lock.packages)
    .filter(
      ([path, about]) =>
        path.lastIndexOf('node_modules/') === 0 && about['dev'] !== true && about['optional'] !== true,
    )
    .map(([path]) => path)
}

/** The last stage of the image, in a folder. */
function imageIn(place: string): void {
  for (const line of text('Dockerfile')
    .split(/^FROM /m)
    .at(-1)
    ?.split('\n') ?? []) {
    const [, words] = /^COPY (?!--from)(.+)$/.exec(line) ?? []
    const parts = words?.split(' ') ?? []
    const target = parts.pop() ?? ''
    for (const source of parts) {
      for (const path of [source, ...globSync(`${source}/**/*`, { cwd: root })]) {
        const to = target === './' ? join(place, path) : join(place, path.replace(source, target))
        if (!/\.\w+$|LICENSE$/.test(path) || !sentToBuild(path)) continue
        mkdirSync(dirname(to), { recursive: true })
        cpSync(join(root, path), to)
      }
    }
  }
  for (const path of productionPackages()) {
    mkdirSync(dirname(join(place, path)), { recursive: true })
    symlinkSync(join(root, path), join(place, path))
  }
}

test('what the image holds starts in a clean folder, without the tools of development, and ends when told', async (t) => {
  const place = folder(t)
  const image = join(place, 'sluice')
  imageIn(image)
  const port = await freePort()
  const variables = [...text('Dockerfile').matchAll(/\b([A-Z_]+)=(\S+)/g)].filter(
    ([, name]) => name !== 'NODE',
  )
  areSettings(
    variables.map(([, name]) => name ?? ''),
    'Dockerfile',
  )
  const ofImage = Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value]))
  const dataDir = join(place, 'data')
  const here = {
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: dataDir,
    NODE_COMPILE_CACHE: join(place, 'cache'),
  }
  const program = join(image, 'bin/sluice.js')
  const relay = new RelayProcess({ dataDir, env: { ...ofImage, ...here }, program }, port)
  t.after(() => relay.kill())
  await relay.ready()
  assert.equal((await fetch(`${relay.url}/healthz`)).status, 200)
  assert.equal((await relay.stop()).code, 0)
})

test('the image is built from sources alone: no tests, no data, nothing of a developer’s', () => {
  for (const path of ['src/main.ts', 'bin/sluice.js', 'console/main.tsx', 'package-lock.json'])
    assert.ok(sentToBuild(path), path)
  for (const path of [
    'data/sluice.db',
    '.env',
    '.git/config',
    'node_modules/zod/package.json',
    'test/house.ts',
  ])
    assert.ok(!sentToBuild(path), path)
  assert.ok(!sentToBuild('src/ledger/step.test.ts') && !sentToBuild('src/lib/certificate.fixture.ts'))
  const [, , last = ''] = text('Dockerfile').split(/^FROM \$\{NODE\}/m)
  assert.ok(text('Dockerfile').includes('\nUSER node\n') && last !== '')
})

test('the nodes of compose.yaml have settings that exist, volumes of their own and time to end', () => {
  const file = parse(text('compose.yaml'), { merge: true }) as Json
  for (const name of ['one', 'two']) {
    areSettings(Object.keys(at(file, `services.${name}.environment`) as Json), name)
    assert.deepEqual(at(file, `services.${name}.volumes`), [`${name}:/data`])
    assert.equal(at(file, `services.${name}.stop_grace_period`), '330s')
  }
  for (const volume of ['one', 'two', 'postgres']) assert.ok(volume in (file['volumes'] as Json))
  assert.match(text('deploy/nginx/compose.conf'), /server one:8080;\n\s+server two:8080;/)
})

/** Renders what our templates use of Go's language: values, `if`, `toYaml … | nindent`. */
function rendered(template: string, context: Json): string {
  const value = (path: string): unknown => at(context, path.replace(/^\./, ''))
  const withIfs = template.replace(
    /\{\{- if (\S+) \}\}([\s\S]*?)\{\{- end \}\}/g,
    (_whole, path: string, inner: string) => (value(path) ? inner : ''),
  )
  const withBlocks = withIfs.replace(
    /\s*\{\{- toYaml (\S+) \| nindent (\d+) \}\}/g,
    (_whole, path: string, indent: string) => {
      const lines = JSON.stringify(value(path), null, 2).split('\n')
      return `\n${lines.map((line) => ' '.repeat(Number(indent)) + line).join('\n')}`
    },
  )
  return withBlocks.replace(/\{\{ (\S+) \}\}/g, (_whole, path: string) => {
    const found = value(path)
    assert.ok(typeof found === 'string' || typeof found === 'number', `${path} has no value`)
    return String(found)
  })
}

test('the Helm chart renders to objects that fit together', () => {
  const values = parse(text('deploy/helm/values.yaml')) as Json
  areSettings(Object.keys(values['settings'] as Json), 'values.yaml')
  const on = { ...values, ingress: { ...(values['ingress'] as Json), enabled: true } }
  const context = { Values: on, Release: { Name: 'relay' } }
  const objects = globSync('deploy/helm/templates/*.yaml', { cwd: root })
    .flatMap((path) => parseAllDocuments(rendered(text(path), context)))
    .map((document) => {
      assert.deepEqual(document.errors, [])
      return document.toJS() as Json
    })
  const kinds = objects.map((object) => String(object['kind'])).toSorted()
  assert.deepEqual(kinds, [
    'ConfigMap',
    'Ingress',
    'PodDisruptionBudget',
    'Service',
    'Service',
    'StatefulSet',
  ])
  const nodes = objects.find(({ kind }) => kind === 'StatefulSet')
  const labels = at(nodes, 'spec.template.metadata.labels')
  for (const object of objects.filter(({ kind }) => kind === 'Service')) {
    assert.deepEqual(at(object, 'spec.selector'), labels)
  }
  assert.deepEqual(at(nodes, 'spec.selector.matchLabels'), labels)
  const names = objects.map((object) => at(object, 'metadata.name'))
  assert.ok(names.includes(at(nodes, 'spec.serviceName')))
  const [container] = at(nodes, 'spec.template.spec.containers') as Json[]
  const mounts = (at(container, 'volumeMounts') as Json[]).map(({ name }) => String(name))
  const volumes = [
    ...(at(nodes, 'spec.template.spec.volumes') as Json[]).map(({ name }) => String(name)),
    ...(at(nodes, 'spec.volumeClaimTemplates') as Json[]).map((claim) => String(at(claim, 'metadata.name'))),
  ]
  assert.deepEqual(mounts.toSorted(), volumes.toSorted())
})

test('the systemd unit sets what exists and starts what is there', () => {
  const unit = text('deploy/systemd/sluice.service')
  areSettings(
    [...unit.matchAll(/^Environment=([A-Z_]+)=/gm)].map(([, name]) => name ?? ''),
    'sluice.service',
  )
  const [, program] = /^ExecStart=\S+ (\S+) serve$/m.exec(unit) ?? []
  assert.ok(text(program ?? '').includes('main.ts'))
})

const hasNginx = spawnSync('nginx', ['-v']).status === 0

test('nginx takes both of its configurations', { skip: hasNginx ? false : 'nginx is not installed' }, (t) => {
  const place = folder(t)
  writeFileSync(join(place, 'fullchain.pem'), cert)
  writeFileSync(join(place, 'privkey.pem'), key)
  for (const name of ['sluice.conf', 'compose.conf']) {
    const conf = text(`deploy/nginx/${name}`)
      .replaceAll('/etc/letsencrypt/live/relay.example.com', place)
      .replace(/server (?:one|two):8080/g, 'server 127.0.0.1:8080')
      .replace(/listen (\d+)/, 'listen 127.0.0.1:1$1')
    writeFileSync(join(place, name), `pid ${place}/pid; error_log stderr; events {} http { ${conf} }`)
    execFileSync('nginx', ['-t', '-p', place, '-c', join(place, name)], { stdio: 'pipe' })
  }
})
