/** Bar charts over time as plain SVG, readable in both themes, with the same data as a table. */
import { useState, type ReactNode } from 'react'
import { useSession } from '../../api/session.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { formatDay } from '../format.ts'
import { DefinedName, type DefinitionName } from '../layout/definition.tsx'
import { Table } from '../tables/table.tsx'

export interface ChartPoint {
  /** RFC 3339. */
  readonly time: string
  readonly value: number
}

export type ChartStep = 'hour' | { readonly dayIn: string }

/** Days of the account whose pages are shown. */
export function useAccountDays(): ChartStep {
  const { account } = useSession()
  return account === null ? 'hour' : { dayIn: account.timezone }
}

export interface ChartProps {
  readonly title: string
  readonly definition?: DefinitionName
  readonly points: readonly ChartPoint[]
  /** One point an hour; or one a day, which begins at midnight in this time zone. */
  readonly step: ChartStep
  /** Formats a value. */
  readonly format: (value: number) => string
  readonly tone?: 'primary' | 'danger' | 'secondary'
}

const width = 600
const height = 120
const gap = 0.25

/** The next round number that is at least `max`, for a readable scale. */
function roundUpToNice(max: number): number {
  if (max <= 0) return 1
  const magnitude = 10 ** Math.floor(Math.log10(max))
  return [1, 2, 2.5, 5, 10].map((step) => step * magnitude).find((top) => top >= max) ?? max
}

const hourFormat = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

function formatHour(at: number, language: 'en' | 'zh-CN'): string {
  return new Intl.DateTimeFormat(language, hourFormat).format(at)
}

function formatAxisTime(time: string, step: ChartStep, language: 'en' | 'zh-CN'): string {
  const at = Date.parse(time)
  if (step !== 'hour') return formatDay(at, language, step.dayIn)
  return formatHour(at, language)
}

export function Chart({ title, definition, points, step, format, tone = 'primary' }: ChartProps) {
  const t = useMessages('shell')
  const language = useLanguage()
  const [isTable, setTable] = useState(false)
  const [hoveredIndex, setHoveredIndex] = useState<number | null>(null)
  const scaleMax = roundUpToNice(Math.max(0, ...points.map(({ value }) => value)))
  const slotWidth = width / Math.max(points.length, 1)
  const point = hoveredIndex === null ? undefined : points[hoveredIndex]
  const total = points.reduce((sum, { value }) => sum + value, 0)
  return (
    <figure className="panel chart-container" aria-label={title}>
      <figcaption className="row spread">
        <strong>
          {definition === undefined ? title : <DefinedName name={title} definition={definition} />}
        </strong>
        <span className="muted num" aria-live="polite">
          {point ? `${formatPointTime(point.time, step, language)}: ${format(point.value)}` : format(total)}
        </span>
      </figcaption>
      {isTable ? (
        <Table
          label={title}
          rows={points.filter(({ value }) => value !== 0)}
          rowId={({ time }) => time}
          columns={[
            { header: t.time, primary: true, cell: ({ time }) => formatPointTime(time, step, language) },
            { header: title, numeric: true, cell: ({ value }) => format(value) },
          ]}
        />
      ) : (
        <svg
          className={`chart ${tone}`}
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onMouseLeave={() => setHoveredIndex(null)}
        >
          {[0.5, 1].map((part) => (
            <line
              key={part}
              x1="0"
              x2={width}
              y1={height * (1 - part) + 0.5}
              y2={height * (1 - part) + 0.5}
            />
          ))}
          {points.map(({ time, value }, at) => {
            const barHeight = (value / scaleMax) * height
            return (
              <g key={time} onMouseEnter={() => setHoveredIndex(at)}>
                <rect className="hit-area" x={at * slotWidth} y="0" width={slotWidth} height={height} />
                <rect
                  className="bar"
                  x={at * slotWidth + (slotWidth * gap) / 2}
                  y={height - barHeight}
                  width={slotWidth * (1 - gap)}
                  height={value > 0 ? Math.max(barHeight, 1) : 0}
                />
              </g>
            )
          })}
          <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
        </svg>
      )}
      <div className="row spread muted chart-footer">
        <span>{points[0] ? formatAxisTime(points[0].time, step, language) : ''}</span>
        <button type="button" className="link" onClick={() => setTable(!isTable)}>
          {isTable ? t.asChart : t.asTable}
        </button>
        <span>{points.length > 0 ? formatAxisTime(points.at(-1)?.time ?? '', step, language) : ''}</span>
      </div>
    </figure>
  )
}

function formatPointTime(time: string, step: ChartStep, language: 'en' | 'zh-CN'): string {
  const at = Date.parse(time)
  if (step !== 'hour') return formatDay(at, language, step.dayIn)
  const begin = new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', ...hourFormat }).format(
    at,
  )
  return `${begin}–${formatHour(at + 3_600_000, language)}`
}

export interface MeterProps {
  readonly label: string
  /** From 0; 1 is the whole cap, and more is possible. */
  readonly share: number
  readonly children?: ReactNode
}

function meterTone(share: number): 'danger' | 'warning' | 'primary' {
  if (share >= 1) return 'danger'
  return share >= 0.8 ? 'warning' : 'primary'
}

/** How much of a cap is used: a warning from 80%, red when it is reached. */
export function Meter({ label, share, children }: MeterProps) {
  const percent = Math.round(share * 100)
  const tone = meterTone(share)
  return (
    <div className="meter-container">
      <div
        className={`meter ${tone}`}
        role="meter"
        aria-label={label}
        aria-valuenow={Math.min(percent, 100)}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          <rect width={Math.min(share, 1) * 100} height="1" />
        </svg>
      </div>
      {children}
    </div>
  )
}
