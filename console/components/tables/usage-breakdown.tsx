/** Sums by model or key, dearest first; a row leads to the same page with that filter. */
import { Link } from '@tanstack/react-router'
import { useWords } from '../../language.ts'
import { numberText } from '../format.ts'
import { Paged } from '../feedback/query-boundary.tsx'
import { Section } from '../layout/page.tsx'
import { Money } from './format-cells.tsx'
import { Table } from './table.tsx'

interface Group {
  readonly id: string
  readonly name: string
  readonly requests: number
  readonly errors: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
}

export interface UsageByProps {
  readonly group: 'model' | 'key'
  readonly title: string
  readonly filter: Readonly<Record<string, string | undefined>>
}

export function UsageBy({ group, title, filter }: UsageByProps) {
  const words = useWords('account').usage
  return (
    <Section title={title}>
      <Paged<Group>
        name={['own', 'by', group]}
        path="/console/usage/by"
        filter={{ ...filter, group }}
        limit={10}
        empty={<p className="quiet panel">{words.none}</p>}
      >
        {(groups) => (
          <Table
            label={title}
            rows={groups}
            idOf={({ id }) => id}
            columns={[
              {
                head: group === 'model' ? words.model : words.key,
                names: true,
                cell: ({ id, name }) => (
                  <Link to="/usage" search={(before) => ({ ...before, [group]: id })}>
                    {name}
                  </Link>
                ),
              },
              { head: words.requests, figures: true, cell: ({ requests }) => numberText(requests) },
              {
                head: words.tokens,
                figures: true,
                cell: (sums) => numberText(sums.prompt_tokens + sums.completion_tokens),
              },
              { head: words.cost, figures: true, cell: ({ cost }) => <Money amount={cost} round /> },
            ]}
          />
        )}
      </Paged>
    </Section>
  )
}
