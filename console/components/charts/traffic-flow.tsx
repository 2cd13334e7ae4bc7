/** Where requests go, as a picture: from keys over models to upstreams, what fails in red; and the same as a table. */
import { queryOptions } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../../api/client.ts'
import type { Flow as FlowAnswer } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { boxWidth, columnsX, pictureWidth, shapeOf, type Box, type Step } from './flow-layout.ts'
import { numberText, percentText } from '../format.ts'
import { Asked } from '../feedback/query-boundary.tsx'
import { Section } from '../layout/page.tsx'
import { exactTime } from '../tables/format-cells.tsx'
import { Table } from '../tables/table.tsx'

const flowQuery = queryOptions({
  queryKey: ['admin', 'flow'],
  queryFn: () => get<FlowAnswer>('/admin/flow'),
  refetchInterval: 10_000,
})

export function Flow() {
  return <Asked options={flowQuery}>{(flow) => <Shown flow={flow} />}</Asked>
}

type Way = FlowAnswer['data'][number]

function Shown({ flow }: { readonly flow: FlowAnswer }) {
  const words = useWords('traffic').flow
  const shell = useWords('shell')
  const [isTable, setTable] = useState(false)
  const count = numberText(flow.requests)
  const lead = flow.complete ? words.lead(count) : words.leadOfNewest(count, exactTime(flow.from))
  if (flow.data.length === 0) {
    return (
      <Section title={words.title}>
        <p className="quiet">{words.none}</p>
      </Section>
    )
  }
  const toggle = (
    <button type="button" className="link flow-toggle" onClick={() => setTable(!isTable)}>
      {isTable ? shell.asChart : shell.asTable}
    </button>
  )
  return (
    <Section title={words.title} lead={lead} actions={toggle}>
      {!isTable && <Picture flow={flow} />}
      <div className={isTable ? '' : 'flow-table'}>
        <Ways flow={flow} />
      </div>
    </Section>
  )
}

/** Names are cut to what stands in the room beside a box. */
function cut(name: string): string {
  return name.length > 34 ? `${name.slice(0, 33)}…` : name
}

function Picture({ flow }: { readonly flow: FlowAnswer }) {
  const words = useWords('traffic').flow
  const [shown, setShown] = useState<Box | null>(null)
  const steps = flow.data.map((way: Way): Step => {
    const key = { id: way.key, name: `${way.email} · ${way.key_name}` }
    const model = { id: way.model, name: way.model === '' ? words.noModel : way.model }
    const upstream = { id: way.upstream ?? '', name: way.upstream_name ?? words.noUpstream }
    return { boxes: [key, model, upstream], requests: way.requests, failures: way.failures }
  })
  const { boxes, bands, height } = shapeOf(steps, words.others)
  const isFaint = (from: string, to: string): boolean =>
    shown !== null && ![from, to].includes(`${shown.column} ${shown.id}`)
  const told =
    shown === null
      ? words.failedShade
      : `${shown.name}: ${words.told(numberText(shown.requests), percentText(shown.requests / Math.max(1, flow.requests)), numberText(shown.failures))}`
  return (
    <figure className="panel flow-picture" aria-label={words.title}>
      <figcaption className="quiet" aria-live="polite">
        {told}
      </figcaption>
      <svg
        viewBox={`0 -24 ${pictureWidth} ${height + 28}`}
        aria-hidden="true"
        onMouseLeave={() => setShown(null)}
      >
        {[words.key, words.model, words.upstream].map((head, column) => (
          <text key={head} className="head" y="-12" {...besideOf(column)}>
            {head}
          </text>
        ))}
        {bands.map(({ id, from, to, good, bad }) => (
          <g key={id} className={isFaint(from, to) ? 'faint' : ''}>
            <path className="good" d={good} />
            {bad !== '' && <path className="bad" d={bad} />}
          </g>
        ))}
        {boxes.map((box) => (
          <Spot key={`${box.column} ${box.id}`} box={box} show={() => setShown(box)} />
        ))}
      </svg>
    </figure>
  )
}

/** Where words stand beside the boxes of a column: before those of the first, behind all others. */
function besideOf(column: number) {
  const x = columnsX[column] ?? 0
  return column === 0
    ? ({ x: x - 8, textAnchor: 'end' } as const)
    : ({ x: x + boxWidth + 8, textAnchor: 'start' } as const)
}

function Spot({ box, show }: { readonly box: Box; readonly show: () => void }) {
  const x = columnsX[box.column] ?? 0
  return (
    <g onMouseEnter={show}>
      <title>{box.name}</title>
      <rect className="box" x={x} y={box.y} width={boxWidth} height={box.height} />
      <text y={box.y + box.height / 2} dy="0.35em" {...besideOf(box.column)}>
        {cut(box.name)}
      </text>
    </g>
  )
}

function Ways({ flow }: { readonly flow: FlowAnswer }) {
  const words = useWords('traffic').flow
  return (
    <Table
      label={words.title}
      rows={flow.data}
      idOf={({ key, model, upstream }) => JSON.stringify([key, model, upstream])}
      columns={[
        {
          head: words.key,
          names: true,
          cell: ({ account, email, key_name: name }) => (
            <>
              <Link to="/operator/accounts/$id" params={{ id: account }}>
                {email}
              </Link>
              <small>{name}</small>
            </>
          ),
        },
        {
          head: words.model,
          cell: ({ model }) =>
            model === '' ? (
              <span className="quiet">{words.noModel}</span>
            ) : (
              <Link to="/operator/models/$id" params={{ id: model }}>
                {model}
              </Link>
            ),
        },
        {
          head: words.upstream,
          cell: ({ upstream, upstream_name: name }) =>
            upstream === null ? (
              <span className="quiet">{words.noUpstream}</span>
            ) : (
              <Link to="/operator/upstreams/$id" params={{ id: upstream }}>
                {name ?? upstream}
              </Link>
            ),
        },
        { head: words.requests, figures: true, cell: ({ requests }) => numberText(requests) },
        {
          head: words.share,
          figures: true,
          cell: ({ requests }) => percentText(requests / Math.max(1, flow.requests)),
        },
        { head: words.failures, figures: true, cell: ({ failures }) => numberText(failures) },
      ]}
    />
  )
}
