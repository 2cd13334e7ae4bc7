/** The traffic flow from API keys through models to upstreams, failures in red; also as a table. */
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { flowQuery } from '../../api/admin-queries.ts'
import type { Flow as FlowData } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { boxWidth, columnsX, diagramWidth, layOutFlow, type NodeBox, type FlowPath } from './flow-layout.ts'
import { formatNumber, formatPercent } from '../format.ts'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { Section } from '../layout/page.tsx'
import { formatExactTime, ModelName } from '../tables/format-cells.tsx'
import { Table } from '../tables/table.tsx'

export function TrafficFlow() {
  return <QueryBoundary options={flowQuery}>{(flow) => <FlowSection flow={flow} />}</QueryBoundary>
}

type FlowRow = FlowData['data'][number]

function FlowSection({ flow }: { readonly flow: FlowData }) {
  const t = useMessages('traffic').flow
  const shell = useMessages('shell')
  const [isTable, setTable] = useState(false)
  const count = formatNumber(flow.requests)
  const lead = flow.complete ? t.lead(count) : t.leadOfNewest(count, formatExactTime(flow.from))
  if (flow.data.length === 0) {
    return (
      <Section title={t.title}>
        <p className="muted">{t.none}</p>
      </Section>
    )
  }
  const toggle = (
    <button type="button" className="link flow-toggle" onClick={() => setTable(!isTable)}>
      {isTable ? shell.asChart : shell.asTable}
    </button>
  )
  return (
    <Section title={t.title} lead={lead} actions={toggle}>
      {!isTable && <FlowDiagram flow={flow} />}
      <div className={isTable ? '' : 'flow-table'}>
        <FlowTable flow={flow} />
      </div>
    </Section>
  )
}

/** Names are truncated to the space next to a box. */
function truncateName(name: string): string {
  return name.length > 34 ? `${name.slice(0, 33)}…` : name
}

function FlowDiagram({ flow }: { readonly flow: FlowData }) {
  const t = useMessages('traffic').flow
  const shell = useMessages('shell')
  const [hovered, setHovered] = useState<NodeBox | null>(null)
  const steps = flow.data.map((row: FlowRow): FlowPath => {
    const key = { id: row.key, name: `${row.email} · ${row.key_name}` }
    const model = { id: row.model, name: row.model === '' ? shell.unknownModel : row.model }
    const upstream = { id: row.upstream ?? '', name: row.upstream_name ?? t.noUpstream }
    return { nodes: [key, model, upstream], requests: row.requests, failures: row.failures }
  })
  const { boxes, bands, height } = layOutFlow(steps, t.others)
  const isFaint = (from: string, to: string): boolean =>
    hovered !== null && ![from, to].includes(`${hovered.column} ${hovered.id}`)
  const caption =
    hovered === null
      ? t.legend
      : `${hovered.name}: ${t.summary(formatNumber(hovered.requests), formatPercent(hovered.requests / Math.max(1, flow.requests)), formatNumber(hovered.failures))}`
  return (
    <figure className="panel flow-diagram" aria-label={t.title}>
      <figcaption className="muted" aria-live="polite">
        {caption}
      </figcaption>
      <svg
        viewBox={`0 -24 ${diagramWidth} ${height + 28}`}
        aria-hidden="true"
        onMouseLeave={() => setHovered(null)}
      >
        {[t.key, t.model, t.upstream].map((head, column) => (
          <text key={head} className="column-label" y="-12" {...labelPosition(column)}>
            {head}
          </text>
        ))}
        {bands.map(({ id, from, to, succeeded, failed }) => (
          <g key={id} className={isFaint(from, to) ? 'dimmed' : ''}>
            <path className="succeeded" d={succeeded} />
            {failed !== '' && <path className="failed" d={failed} />}
          </g>
        ))}
        {boxes.map((box) => (
          <DiagramNode key={`${box.column} ${box.id}`} box={box} onHover={() => setHovered(box)} />
        ))}
      </svg>
    </figure>
  )
}

/** Labels stand left of the first column's boxes and right of all others. */
function labelPosition(column: number) {
  const x = columnsX[column] ?? 0
  return column === 0
    ? ({ x: x - 8, textAnchor: 'end' } as const)
    : ({ x: x + boxWidth + 8, textAnchor: 'start' } as const)
}

function DiagramNode({ box, onHover }: { readonly box: NodeBox; readonly onHover: () => void }) {
  const x = columnsX[box.column] ?? 0
  return (
    <g onMouseEnter={onHover}>
      <title>{box.name}</title>
      <rect className="node" x={x} y={box.y} width={boxWidth} height={box.height} />
      <text y={box.y + box.height / 2} dy="0.35em" {...labelPosition(box.column)}>
        {truncateName(box.name)}
      </text>
    </g>
  )
}

function FlowTable({ flow }: { readonly flow: FlowData }) {
  const t = useMessages('traffic').flow
  return (
    <Table
      label={t.title}
      rows={flow.data}
      rowId={({ key, model, upstream }) => JSON.stringify([key, model, upstream])}
      columns={[
        {
          header: t.key,
          primary: true,
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
          header: t.model,
          cell: ({ model }) =>
            model === '' ? (
              <ModelName model={model} />
            ) : (
              <Link to="/operator/models/$id" params={{ id: model }}>
                {model}
              </Link>
            ),
        },
        {
          header: t.upstream,
          cell: ({ upstream, upstream_name: name }) =>
            upstream === null ? (
              <span className="muted">{t.noUpstream}</span>
            ) : (
              <Link to="/operator/upstreams/$id" params={{ id: upstream }}>
                {name ?? upstream}
              </Link>
            ),
        },
        {
          header: t.requests,
          definition: 'requests24',
          numeric: true,
          cell: ({ requests }) => formatNumber(requests),
        },
        {
          header: t.share,
          definition: 'share24',
          numeric: true,
          cell: ({ requests }) => formatPercent(requests / Math.max(1, flow.requests)),
        },
        {
          header: t.failures,
          definition: 'failed24',
          numeric: true,
          cell: ({ failures }) => formatNumber(failures),
        },
      ]}
    />
  )
}
