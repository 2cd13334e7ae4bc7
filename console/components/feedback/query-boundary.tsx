/** The three states of what is asked of the server, in one place: it loads, it was refused, it is here. */
import { Button } from '@mantine/core'
import {
  useInfiniteQuery,
  useQuery,
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { get, queryOf, type ApiError } from '../../api/client.ts'
import type { Page } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { Loading, Refused } from './empty-state.tsx'
import { Page as Frame } from '../layout/page.tsx'

export interface LoadedProps<Answer> {
  readonly query: UseQueryResult<Answer>
  /** Of a page that is called after what is asked for, until it is here. */
  readonly title?: string | undefined
  readonly children: (answer: Answer) => ReactNode
}

export function Loaded<Answer>({ query, title, children }: LoadedProps<Answer>) {
  if (query.data !== undefined) return children(query.data)
  const state = query.isError ? (
    <Refused error={query.error} retry={() => void query.refetch()} />
  ) : (
    <Loading />
  )
  return title === undefined ? state : <Frame title={title}>{state}</Frame>
}

export interface AskedProps<Answer, Name extends QueryKey> {
  readonly options: UseQueryOptions<Answer, Error, Answer, Name>
  readonly title?: string
  readonly children: (answer: Answer) => ReactNode
}

/** What a question answers; asked again whenever its name says something else. */
export function Asked<Answer, Name extends QueryKey>({ options, title, children }: AskedProps<Answer, Name>) {
  return (
    <Loaded query={useQuery(options)} title={title}>
      {children}
    </Loaded>
  )
}

export interface PagedProps<Item> {
  readonly name: QueryKey
  /** Under /api. */
  readonly path: string
  readonly filter?: Readonly<Record<string, string | undefined>>
  readonly empty: ReactNode
  readonly limit?: number
  /** Asked anew after so long, for lists that grow by themselves. */
  readonly freshMs?: number
  readonly children: (items: readonly Item[]) => ReactNode
}

/** A list that the server gives page by page; what is there stays while more comes. */
export function Paged<Item>(props: PagedProps<Item>) {
  const { name, path, filter = {}, empty, limit = 50, freshMs = false, children } = props
  const words = useWords('shell')
  const query = useInfiniteQuery<Page<Item>, ApiError, { pages: Page<Item>[] }, QueryKey, string | null>({
    queryKey: [...name, filter],
    queryFn: ({ pageParam }) => get<Page<Item>>(`${path}${queryOf({ ...filter, limit, cursor: pageParam })}`),
    initialPageParam: null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: freshMs,
  })
  if (query.data === undefined) {
    return query.isError ? <Refused error={query.error} retry={() => void query.refetch()} /> : <Loading />
  }
  const items = query.data.pages.flatMap(({ data }) => data)
  if (items.length === 0 && !query.hasNextPage) return empty
  return (
    <div>
      {children(items)}
      {query.hasNextPage && (
        <div className="more-row">
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {words.more}
          </Button>
        </div>
      )}
    </div>
  )
}
