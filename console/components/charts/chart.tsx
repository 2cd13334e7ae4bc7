/** Charts drawn by hand: bars over time with one figure each, readable in both themes, with a table behind them. */
import { useState, type ReactNode } from 'react'
import { useLanguage, useWords } from '../../language.ts'
import { dayText, exactText } from '../format.ts'
import { Table } from '../tables/table.tsx'

export interface ChartPoint {
  /** RFC 3339. */
  readonly time: string
  readonly value: number
}

export interface ChartProps {
  readonly title: string
  readonly points: readonly ChartPoint[]
  readonly step: 'hour' | 'day'
  /** How a value is written. */
  readonly textOf: (value: number) => string
  readonly tone?: 'accent' | 'bad' | 'second'
}

const width = 600
const height = 120
const gap = 0.25

/** A round number that is not less, so that the scale can be read. */
function niceTop(most: number): number {
  if (most <= 0) return 1
  const size = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 2.5, 5, 10].map((step) => step * size).find((top) => top >= most) ?? most
}

function timeText(time: string, step: 'hour' | 'day', language: 'en' | 'zh-CN'): string {
  const at = Date.parse(time)
  if (step === 'day') return dayText(at, language)
  return new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', hour12: false }).format(at)
}

export function Chart({ title, points, step, textOf, tone = 'accent' }: ChartProps) {
  const words = useWords('shell')
  const language = useLanguage()
  const [isTable, setTable] = useState(false)
  const [shown, setShown] = useState<number | null>(null)
  const top = niceTop(Math.max(0, ...points.map(({ value }) => value)))
  const slot = width / Math.max(points.length, 1)
  const point = shown === null ? undefined : points[shown]
  const total = points.reduce((sum, { value }) => sum + value, 0)
  return (
    <figure className="panel chart-box" aria-label={title}>
      <figcaption className="row spread">
        <strong>{title}</strong>
        <span className="quiet num" aria-live="polite">
          {point ? `${exactOrDay(point.time, step, language)}: ${textOf(point.value)}` : textOf(total)}
        </span>
      </figcaption>
      {isTable ? (
        <Table
          label={title}
          rows={points.filter(({ value }) => value !== 0)}
          idOf={({ time }) => time}
          columns={[
            { head: words.time, names: true, cell: ({ time }) => exactOrDay(time, step, language) },
            { head: title, figures: true, cell: ({ value }) => textOf(value) },
          ]}
        />
      ) : (
        <svg
          className={`chart ${tone}`}
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onMouseLeave={() => setShown(null)}
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
            const tall = (value / top) * height
            return (
              <g key={time} onMouseEnter={() => setShown(at)}>
                <rect className="field" x={at * slot} y="0" width={slot} height={height} />
                <rect
                  className="bar"
                  x={at * slot + (slot * gap) / 2}
                  y={height - tall}
                  width={slot * (1 - gap)}
                  height={value > 0 ? Math.max(tall, 1) : 0}
                />
              </g>
            )
          })}
          <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
        </svg>
      )}
      <div className="row spread quiet chart-foot">
        <span>{points[0] ? timeText(points[0].time, step, language) : ''}</span>
        <button type="button" className="link" onClick={() => setTable(!isTable)}>
          {isTable ? words.asChart : words.asTable}
        </button>
        <span>{points.length > 0 ? timeText(points.at(-1)?.time ?? '', step, language) : ''}</span>
      </div>
    </figure>
  )
}

function exactOrDay(time: string, step: 'hour' | 'day', language: 'en' | 'zh-CN'): string {
  if (step === 'day') return dayText(Date.parse(time), language)
  return exactText(Date.parse(time), language)
}

export interface MeterProps {
  readonly label: string
  /** 0 to 1 and more. */
  readonly share: number
  readonly children?: ReactNode
}

function toneOf(share: number): 'bad' | 'warn' | 'accent' {
  if (share >= 1) return 'bad'
  return share >= 0.8 ? 'warn' : 'accent'
}

/** How much of a cap is used: calm below 80 %, a warning above, red when it is reached. */
export function Meter({ label, share, children }: MeterProps) {
  const percent = Math.round(share * 100)
  const tone = toneOf(share)
  return (
    <div className="meter-box">
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
