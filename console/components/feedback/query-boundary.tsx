/** Renders the three states of a query in one place: loading, error, data. */
import { Button } from '@mantine/core'
import {
  useInfiniteQuery,
  useQuery,
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { get, queryString, type ApiError } from '../../api/client.ts'
import type { Page } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { Loading, ErrorMessage } from './empty-state.tsx'
import { Page as Frame } from '../layout/page.tsx'

export interface QueryResultProps<Data> {
  readonly query: UseQueryResult<Data>
  /** The title of the page while its data is loading, for pages that are named after their data. */
  readonly title?: string | undefined
  /** The text of a 404. */
  readonly notFound?: string | undefined
  readonly children: (data: Data) => ReactNode
}

export function QueryResult<Data>({ query, title, notFound, children }: QueryResultProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  const state = query.isError ? (
    <ErrorMessage error={query.error} notFound={notFound} retry={() => void query.refetch()} />
  ) : (
    <Loading />
  )
  return title === undefined ? state : <Frame title={title}>{state}</Frame>
}

export interface QueryBoundaryProps<Data, Key extends QueryKey> {
  readonly options: UseQueryOptions<Data, Error, Data, Key>
  readonly title?: string
  readonly notFound?: string
  readonly children: (data: Data) => ReactNode
}

/** Runs a query and renders its data. */
export function QueryBoundary<Data, Key extends QueryKey>({
  options,
  children,
  ...texts
}: QueryBoundaryProps<Data, Key>) {
  return (
    <QueryResult query={useQuery(options)} {...texts}>
      {children}
    </QueryResult>
  )
}

export interface PagedListProps<Item> {
  readonly queryKey: QueryKey
  /** Relative to /api. */
  readonly path: string
  readonly filter?: Readonly<Record<string, string | undefined>>
  readonly empty: ReactNode
  readonly limit?: number
  /** The refetch interval of lists that grow by themselves. */
  readonly refreshMs?: number
  readonly children: (items: readonly Item[]) => ReactNode
}

/** A paginated list. Loaded pages stay visible while the next one loads. */
export function PagedList<Item>(props: PagedListProps<Item>) {
  const { queryKey, path, filter = {}, empty, limit = 50, refreshMs = false, children } = props
  const t = useMessages('shell')
  const query = useInfiniteQuery<Page<Item>, ApiError, { pages: Page<Item>[] }, QueryKey, string | null>({
    queryKey: [...queryKey, filter],
    queryFn: ({ pageParam }) =>
      get<Page<Item>>(`${path}${queryString({ ...filter, limit, cursor: pageParam })}`),
    initialPageParam: null,
    getNextPageParam: ({ next }) => next,
    // Each interval fetches all loaded pages again: only the first one grows.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 && refreshMs) || false,
  })
  if (query.data === undefined) {
    return query.isError ? (
      <ErrorMessage error={query.error} retry={() => void query.refetch()} />
    ) : (
      <Loading />
    )
  }
  const items = query.data.pages.flatMap(({ data }) => data)
  if (items.length === 0 && !query.hasNextPage) return empty
  return (
    <div>
      {children(items)}
      {query.hasNextPage && (
        <div className="load-more">
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {t.more}
          </Button>
        </div>
      )}
    </div>
  )
}
