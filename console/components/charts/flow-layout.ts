/** The layout of the flow diagram: position and height of its boxes, and the bands between them. */

export interface FlowPath {
  /** The node in each column, from left to right. */
  readonly nodes: readonly [FlowNode, FlowNode, FlowNode]
  readonly requests: number
  readonly failures: number
}

export interface FlowNode {
  readonly id: string
  readonly name: string
}

export interface NodeBox extends FlowNode {
  readonly column: number
  readonly requests: number
  readonly failures: number
  readonly y: number
  readonly height: number
}

export interface FlowBand {
  readonly id: string
  readonly from: string
  readonly to: string
  /** SVG paths of the successful and the failed share, side by side. */
  readonly succeeded: string
  readonly failed: string
}

export interface FlowLayout {
  readonly boxes: readonly NodeBox[]
  readonly bands: readonly FlowBand[]
  readonly height: number
}

export const diagramWidth = 1000
/** The left edge of each column's boxes. */
export const columnsX = [250, 495, 740] as const
export const boxWidth = 10
/** The rest of a column is grouped into one box. */
const maxBoxesPerColumn = 8
const otherNodesId = 'others'
/** The height of all requests together, and the minimum height of a slot, so that names stay readable. */
const totalHeight = 200
const minSlotHeight = 20
const slotGap = 8

type Sums = Map<string, { readonly name: string; requests: number; failures: number }>

function sumByNode(paths: readonly FlowPath[], column: 0 | 1 | 2): Sums {
  const sums: Sums = new Map()
  for (const { nodes, requests, failures } of paths) {
    const { id, name } = nodes[column]
    const sum = sums.get(id) ?? { name, requests: 0, failures: 0 }
    sum.requests += requests
    sum.failures += failures
    sums.set(id, sum)
  }
  return sums
}

/** Groups the least busy nodes of a column into one. */
function groupSmallNodes(
  paths: readonly FlowPath[],
  column: 0 | 1 | 2,
  others: (count: number) => string,
): FlowPath[] {
  const busiest = [...sumByNode(paths, column)].toSorted(
    ([, one], [, other]) => other.requests - one.requests,
  )
  if (busiest.length <= maxBoxesPerColumn) return [...paths]
  const largest = new Set(busiest.slice(0, maxBoxesPerColumn - 1).map(([id]) => id))
  const rest: FlowNode = { id: otherNodesId, name: others(busiest.length - largest.size) }
  return paths.map((step) => {
    const boxes: [FlowNode, FlowNode, FlowNode] = [...step.nodes]
    if (!largest.has(boxes[column].id)) boxes[column] = rest
    return { ...step, boxes }
  })
}

function layOutBoxes(paths: readonly FlowPath[], column: 0 | 1 | 2, pixelsPerRequest: number): NodeBox[] {
  let y = 0
  const busiest = [...sumByNode(paths, column)].toSorted(
    ([, one], [, other]) => other.requests - one.requests,
  )
  return busiest.map(([id, sum]) => {
    const height = Math.max(2, sum.requests * pixelsPerRequest)
    const slot = Math.max(minSlotHeight, height)
    const box = { id, column, ...sum, y: y + (slot - height) / 2, height }
    y += slot + slotGap
    return box
  })
}

function bandPath(column: number, from: number, to: number, thickness: number): string {
  const left = (columnsX[column] ?? 0) + boxWidth
  const right = columnsX[column + 1] ?? 0
  const middle = (left + right) / 2
  const line = (y1: number, y2: number): string => `${middle},${y1} ${middle},${y2}`
  return `M${left},${from} C${line(from, to)} ${right},${to} L${right},${to + thickness} C${line(to + thickness, from + thickness)} ${left},${from + thickness} Z`
}

function layOutBands(
  paths: readonly FlowPath[],
  boxes: readonly NodeBox[],
  column: 0 | 1,
  pixelsPerRequest: number,
): FlowBand[] {
  const next = column === 0 ? 1 : 2
  const pairs = new Map<string, { from: string; to: string; requests: number; failures: number }>()
  for (const { nodes, requests, failures } of paths) {
    const [from, to] = [nodes[column].id, nodes[next].id]
    const name = JSON.stringify([from, to])
    const pair = pairs.get(name) ?? { from, to, requests: 0, failures: 0 }
    pair.requests += requests
    pair.failures += failures
    pairs.set(name, pair)
  }
  const indexOfBox = (id: string, at: number): number =>
    boxes.findIndex((box) => box.id === id && box.column === at)
  // Ordered by their boxes on both sides, so that bands cross as little as possible.
  const ordered = [...pairs.values()].toSorted(
    (one, other) =>
      indexOfBox(one.from, column) - indexOfBox(other.from, column) ||
      indexOfBox(one.to, next) - indexOfBox(other.to, next),
  )
  const used = new Map<string, number>()
  const reserve = (id: string, at: number, height: number): number => {
    const name = `${at} ${id}`
    const before = used.get(name) ?? 0
    used.set(name, before + height)
    return (boxes[indexOfBox(id, at)]?.y ?? 0) + before
  }
  return ordered.map(({ from, to, requests, failures }) => {
    const [total, failed] = [requests * pixelsPerRequest, failures * pixelsPerRequest]
    const [y1, y2] = [reserve(from, column, total), reserve(to, next, total)]
    return {
      id: `${column} ${from} ${to}`,
      from: `${column} ${from}`,
      to: `${next} ${to}`,
      succeeded: bandPath(column, y1, y2, total - failed),
      failed:
        failures === 0 ? '' : bandPath(column, y1 + total - failed, y2 + total - failed, Math.max(failed, 1)),
    }
  })
}

/** `others` names the box that groups `count` nodes. */
export function layOutFlow(paths: readonly FlowPath[], others: (count: number) => string): FlowLayout {
  const total = paths.reduce((sum, { requests }) => sum + requests, 0)
  const pixelsPerRequest = totalHeight / Math.max(1, total)
  const columns = [0, 1, 2] as const
  const grouped = columns.reduce<readonly FlowPath[]>(
    (before, column) => groupSmallNodes(before, column, others),
    paths,
  )
  const boxes = columns.flatMap((column) => layOutBoxes(grouped, column, pixelsPerRequest))
  const bands = [
    ...layOutBands(grouped, boxes, 0, pixelsPerRequest),
    ...layOutBands(grouped, boxes, 1, pixelsPerRequest),
  ]
  const height = Math.max(...boxes.map((box) => box.y + Math.max(box.height, minSlotHeight)))
  return { boxes, bands, height }
}
