/**
 * The chart of CPU time per request in the READMEs: the relays of docs/performance.json, and those of bench/quoted-gateways.json,
 * which were measured on another machine and therefore have a panel of their own. `npm run bench` and
 * `npm run pictures` write it to docs/images/.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readQuotedGateways, type QuotedGateways } from './quoted-gateways.ts'
import type { Results } from './results-file.ts'

export type Scheme = 'light' | 'dark'
export type Language = 'en' | 'zh-CN'

interface Row {
  readonly title: string
  readonly does: string
  readonly micros: number
  readonly isOwn: boolean
}

interface Panel {
  readonly title: string
  readonly rows: readonly Row[]
}

const root = new URL('..', import.meta.url).pathname
const loadTitle = '1 KB, 64 connections'

const texts = {
  en: {
    title: 'CPU µs per request of 1 KB, all processes and threads (logarithmic)',
    here: (date: string) => `Measured by npm run bench, ${date}`,
    elsewhere: (date: string) => `Measured on another machine, ${date}`,
    note: 'Machines differ: compare each relay with the nginx of its own panel.',
    does: {
      nginx: ['nginx', 'forwards bytes'],
      baseline: ['node:http + undici', 'checks a key, parses the body, adds up usage in memory'],
      sluice: ['Sluice', 'keys, rate limits, exact billing that is on disk in time'],
    },
  },
  'zh-CN': {
    title: '每个 1 KB 请求的 CPU 时间（微秒，含全部进程和线程，对数刻度）',
    here: (date: string) => `由 npm run bench 测得，${date}`,
    elsewhere: (date: string) => `在另一台机器上测得，${date}`,
    note: '两台机器不同：请与同一组中的 nginx 比较。',
    does: {
      nginx: ['nginx', '只转发字节'],
      baseline: ['node:http + undici', '校验密钥，解析请求体，用量只在内存中累加'],
      sluice: ['Sluice', '密钥、速率限制，费用精确并及时落盘'],
    },
  },
} as const

const palettes = {
  light: { text: '#1f2328', muted: '#59636e', grid: '#d1d9e0', dot: '#818b98', own: '#0c7a8f' },
  dark: { text: '#f0f6fc', muted: '#9198a1', grid: '#3d444d', dot: '#8b949e', own: '#4cc9dc' },
} as const

const [width, plotStart, plotEnd, rowHeight, panelGap] = [840, 400, 770, 38, 40]
const ticks = [10, 100, 1000, 10_000]
const [minMicros, maxMicros] = [10, 20_000]

function xOf(micros: number): number {
  const share = Math.log(micros / minMicros) / Math.log(maxMicros / minMicros)
  return Math.round(plotStart + share * (plotEnd - plotStart))
}

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const grouped = (value: number): string => Math.round(value).toLocaleString('en-US')

function panelsOf(results: Results, peers: QuotedGateways, language: Language): Panel[] {
  const { here, elsewhere, does } = texts[language]
  const measured = results.rows.filter(({ title }) => title === loadTitle)
  const own = measured.flatMap(({ name, cpuMicros, invalid }): Row[] => {
    const known = name in does ? does[name as keyof typeof does] : undefined
    if (known === undefined || cpuMicros === null || invalid !== null) return []
    return [{ title: known[0], does: known[1], micros: cpuMicros.median, isOwn: name === 'sluice' }]
  })
  const others = peers.relays.map(({ title, micros, does: doing }): Row => ({
    title,
    does: doing[language],
    micros: micros['1kb'],
    isOwn: false,
  }))
  return [
    { title: here(results.date), rows: own },
    { title: elsewhere(peers.date), rows: others },
  ]
}

/** The chart as SVG. */
export function renderCpuChart(
  results: Results,
  peers: QuotedGateways,
  { language, scheme }: { readonly language: Language; readonly scheme: Scheme },
): string {
  const { title, note } = texts[language]
  const color = palettes[scheme]
  const body: string[] = []
  const text = (x: number, y: number, content: string, attributes: string): number =>
    body.push(`<text x="${x}" y="${y}" ${attributes}>${escapeXml(content)}</text>`)
  text(0, 18, title, `font-size="15" font-weight="600" fill="${color.text}"`)
  let y = 28
  for (const panel of panelsOf(results, peers, language)) {
    const height = panel.rows.length * rowHeight
    y += panelGap
    text(0, y - 10, panel.title, `font-size="13" font-weight="600" fill="${color.muted}"`)
    for (const tick of ticks) {
      const x = xOf(tick)
      text(x, y - 10, grouped(tick), `font-size="11" text-anchor="middle" fill="${color.muted}"`)
      body.push(`<path d="M${x} ${y - 4}V${y + height}" stroke="${color.grid}"/>`)
    }
    for (const [index, row] of panel.rows.entries()) {
      const middle = y + index * rowHeight + rowHeight / 2
      const [fill, weight] = row.isOwn ? [color.own, 700] : [color.dot, 400]
      text(
        0,
        middle - 3,
        row.title,
        `font-size="13" font-weight="${row.isOwn ? 700 : 600}" fill="${row.isOwn ? color.own : color.text}"`,
      )
      text(0, middle + 12, row.does, `font-size="12" fill="${color.muted}"`)
      const x = xOf(row.micros)
      body.push(`<path d="M${plotStart} ${middle}H${x}" stroke="${fill}" stroke-width="2"/>`)
      body.push(`<circle cx="${x}" cy="${middle}" r="5.5" fill="${fill}"/>`)
      text(
        x + 11,
        middle + 4,
        grouped(row.micros),
        `font-size="12" font-weight="${weight}" fill="${color.text}"`,
      )
    }
    y += height
  }
  text(0, y + 24, note, `font-size="12" fill="${color.muted}"`)
  const fonts = 'system-ui, -apple-system, Segoe UI, Noto Sans, PingFang SC, Microsoft YaHei, sans-serif'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 34}" width="${width}" height="${y + 34}" font-family="${fonts}" role="img" aria-label="${escapeXml(title)}">`,
    ...body,
    '</svg>\n',
  ].join('\n')
}

/** Each file of the chart by its path from the root, drawn from the stored results. */
export function renderCpuCharts(): Map<string, string> {
  const results = JSON.parse(readFileSync(join(root, 'docs/performance.json'), 'utf8')) as Results
  const peers = readQuotedGateways()
  const charts = new Map<string, string>()
  for (const language of ['en', 'zh-CN'] as const)
    for (const scheme of ['light', 'dark'] as const) {
      const path = `docs/images/cpu-per-request.${language.toLowerCase()}.${scheme}.svg`
      charts.set(path, renderCpuChart(results, peers, { language, scheme }))
    }
  return charts
}

export function writeCpuCharts(): void {
  mkdirSync(join(root, 'docs/images'), { recursive: true })
  for (const [path, svg] of renderCpuCharts()) writeFileSync(join(root, path), svg)
}
