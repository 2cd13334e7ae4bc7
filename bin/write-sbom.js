// Writes sluice.cdx.json, a CycloneDX list of all packages in package-lock.json, and licenses.txt, their licences with the
// texts, to sbom/ or the folder given. Fails on a licence that is not listed here, so that a dependency cannot bring one
// unnoticed. The same packages give the same files. `--relay`: only what the relay runs with, for its packages.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'

const permissive = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]
/**
 * Licences of packages that only build or test the project. MPL-2.0: their code is part of no distribution. OFL-1.1: the
 * console's font, which may be distributed with any software if its licence goes with it, as in sbom/licenses.txt.
 */
const forDevelopment = [...permissive, 'MPL-2.0', 'OFL-1.1']

/** Of versions whose package.json names no licence: as read in their file LICENSE. */
const licensesByFile = new Map([['png-js 2.0.0', 'MIT']])

/**
 * @typedef {{ id?: string, name?: string }} License
 * @typedef {object} Component
 * @property {string} bom-ref
 * @property {string} name
 * @property {string} version
 * @property {Array<{ name: string, value: string }>} properties
 * @property {Array<{ license?: License, expression?: string }>} [licenses]
 */

/** A file of the relay that belongs to no package. It may be distributed with any software if its licence goes with it. */
const font = {
  type: 'file',
  name: 'Noto Sans SC',
  version: '2.004',
  path: 'src/http/pdf/fonts/NotoSansSC-Regular.ttf',
  license: 'OFL-1.1',
  text: 'src/http/pdf/fonts/OFL.txt',
}

const root = fileURLToPath(new URL('..', import.meta.url))
const isOfRelay = process.argv.includes('--relay')
const output = process.argv.slice(2).find((each) => each !== '--relay') ?? join(root, 'sbom')

/** @returns {unknown} */
function parse(/** @type {string} */ text) {
  return JSON.parse(text)
}

/** `(MIT OR CC0-1.0)` offers a choice; any other expression must be listed as a whole. */
function choicesOf(/** @type {string} */ expression) {
  return expression.replace(/^\((.*)\)$/, '$1').split(' OR ')
}

function licenseOf(/** @type {Component} */ { licenses }) {
  const [first] = licenses ?? []
  return first?.expression ?? first?.license?.id ?? first?.license?.name ?? 'unknown'
}

function isForDevelopment(/** @type {Component} */ { properties }) {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')
}

function sha256(/** @type {string} */ path) {
  return createHash('sha256')
    .update(readFileSync(join(root, path)))
    .digest('hex')
}

function licenseText(/** @type {Component} */ { name, version }) {
  const folder = join(root, 'node_modules', name)
  if (!existsSync(join(folder, 'package.json'))) return null
  const installed = /** @type {{ version: string }} */ (
    parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  )
  const file = readdirSync(folder).find((each) => /^(licen[sc]e|copying)/i.test(each))
  return installed.version === version && file !== undefined
    ? readFileSync(join(folder, file), 'utf8').trim()
    : null
}

// All packages, whatever NODE_ENV says: npm would leave out those that a package for development needs, too.
const text = execFileSync(
  'npm',
  ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--include=dev'],
  {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  },
)
const sbom =
  /** @type {{ components: Component[], dependencies: Array<{ ref: string, dependsOn?: string[] }>, serialNumber?: string, metadata: { timestamp?: string, component: { name: string } } }} */ (
    parse(text)
  )
// npm names the project after its folder, and adds a random number and the time.
sbom.metadata.component.name = 'sluice'
delete sbom.serialNumber
delete sbom.metadata.timestamp
const components = sbom.components.filter((each) => !isOfRelay || !isForDevelopment(each))
const omitted = new Set(
  sbom.components.filter((each) => !components.includes(each)).map((each) => each['bom-ref']),
)
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => !omitted.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => !omitted.has(each)) }))
components.sort((a, b) => (a.name < b.name ? -1 : 1))
for (const each of components) {
  const id = licensesByFile.get(`${each.name} ${each.version}`)
  if (id !== undefined) each.licenses = [{ license: { id } }]
}

mkdirSync(output, { recursive: true })
const listed = {
  ...sbom,
  components: [
    ...components,
    {
      type: font.type,
      name: font.name,
      version: font.version,
      hashes: [{ alg: 'SHA-256', content: sha256(font.path) }],
      licenses: [{ license: { id: font.license } }],
      properties: [{ name: 'sluice:path', value: font.path }],
    },
  ],
}
writeFileSync(join(output, 'sluice.cdx.json'), `${JSON.stringify(listed, null, 2)}\n`)
const lines = components.map((each) => {
  const use = isForDevelopment(each) ? 'build, test or console' : 'relay'
  return `${each.name} ${each.version}: ${licenseOf(each)} (${use})`
})
lines.push(`${font.name} ${font.version}: ${font.license} (relay)`)
const texts = components.flatMap((each) => {
  const text = licenseText(each)
  return text === null ? [] : [`\n--- ${each.name} ${each.version} ---\n\n${text}`]
})
texts.push(`\n--- ${font.name} ${font.version} ---\n\n${readFileSync(join(root, font.text), 'utf8').trim()}`)
writeFileSync(join(output, 'licenses.txt'), `${[...lines, ...texts].join('\n')}\n`)

const rejected = components.filter((each) => {
  const allowed = isForDevelopment(each) ? forDevelopment : permissive
  return !choicesOf(licenseOf(each)).some((choice) => allowed.includes(choice))
})
for (const each of rejected)
  console.error(`${each.name} ${each.version} has a licence that is not allowed: ${licenseOf(each)}.`)
console.log(
  `Wrote sluice.cdx.json and licenses.txt: ${components.length} packages, ${texts.length} licence texts.`,
)
if (rejected.length > 0) process.exitCode = 1
