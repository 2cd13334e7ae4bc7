/** The traffic flow, the page of an upstream, its credentials, and what changes affect. English. */

/** `count` is already formatted. */
const requestCount = (count: string): string => `${count} ${count === '1' ? 'request' : 'requests'}`

const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

const requestsFrom = (count: string, keys: number, isExact: boolean): string =>
  `${isExact ? '' : 'at least '}${requestCount(count)} from ${plural(keys, 'API key', 'API keys')}`

export const traffic = {
  flow: {
    title: 'Traffic flow',
    lead: (requests: string) => `${requestCount(requests)} in the last 24 hours, by key, model and upstream.`,
    leadOfNewest: (requests: string, since: string) =>
      `The latest ${requestCount(requests)}, since ${since}, by key, model and upstream.`,
    none: 'No requests in the last 24 hours.',
    key: 'Key',
    model: 'Model',
    upstream: 'Upstream',
    requests: 'Requests',
    share: 'Share',
    failures: 'Rejected or failed',
    noUpstream: 'No upstream',
    others: (count: number) => `${count} others`,
    summary: (requests: string, share: string, failures: string) =>
      `${requestCount(requests)} (${share}), ${failures} rejected or failed`,
    legend: 'Rejected or failed requests are shown in red.',
  },
  upstream: {
    provider: 'Provider',
    address: 'Base URL',
    proxy: 'Proxy',
    none: 'None',
    priority: 'Priority',
    weight: 'Weight',
    costs: 'Your cost, input / output',
    unknown: 'Not set',
    state: 'Status',
    changed: 'Updated',
    id: 'ID',
    models: 'Models',
    modelsLead: 'Health as measured by requests in the last minute.',
    noModels: 'No model is routed to this upstream.',
    model: 'Upstream model',
    publicNames: 'Public model',
    requests: 'Requests',
    errors: 'Error rate',
    latency: 'First token',
    since: 'Since',
  },
  credentials: {
    title: 'Credentials',
    lead: 'Requests are distributed by weight. A credential that is rejected or out of credit is paused while the others continue.',
    add: 'Add credential',
    addTitle: (name: string) => `Add a credential to ${name}`,
    editTitle: (name: string) => `Edit “${name}”`,
    main: 'Main credential',
    endsWith: (last: string) => `ends in ${last}`,
    credential: 'Credential',
    secretHint: 'Stored encrypted and never shown again',
    secretUnchanged: 'Leave empty to keep the current one',
    label: 'Label',
    labelHint: 'For your reference only',
    weight: 'Weight',
    weightHint: 'Share of requests; the main credential has weight 1',
    state: 'Status',
    added: 'Added',
    on: 'Active',
    off: 'Disabled',
    circuit: { open: 'Paused after failures', 'half-open': 'Testing recovery' },
    actions: 'Actions',
    enable: 'Enable',
    disable: 'Disable',
    disableTitle: (name: string) => `Disable “${name}”?`,
    disableEffect: 'New requests no longer use it. Requests in progress are not affected.',
    enabled: 'Credential enabled.',
    disabled: 'Credential disabled.',
    deleteTitle: (name: string) => `Delete “${name}”?`,
    deleteEffect:
      'It is deleted here but stays valid at the provider. Requests in progress are not affected.',
    deleted: 'Credential deleted.',
    saved: 'Credential saved.',
  },
  effects: {
    noModels: 'No model is routed to it.',
    models: (count: number, names: string) =>
      `${plural(count, 'model is', 'models are')} routed to it: ${names}.`,
    stillRouted: (count: number, names: string) =>
      `${plural(count, 'model is', 'models are')} still routed to it: ${names}. Change the routes first.`,
    unserved: (count: number, names: string) =>
      `${plural(count, 'model has no other enabled upstream and becomes', 'models have no other enabled upstream and become')} unavailable: ${names}.`,
    upstreamDisabled: 'It receives no new requests. Requests in progress are not affected.',
    credentialsDeleted: (count: number) =>
      `${plural(count, 'credential is', 'credentials are')} deleted with it.`,
    otherCredentials: (count: number) =>
      count === 0
        ? 'No other credential of this upstream is enabled, so it can no longer be called.'
        : `${plural(count, 'other credential stays', 'other credentials stay')} enabled.`,
    noRequests: {
      upstream: 'This upstream handled no requests in the last 24 hours.',
      model: 'This model received no requests in the last 24 hours.',
    },
    /** `isExact` is false if only the newest requests were counted. */
    requests: {
      upstream: (count: string, keys: number, isExact: boolean) =>
        `This upstream handled ${requestsFrom(count, keys, isExact)} in the last 24 hours.`,
      model: (count: string, keys: number, isExact: boolean) =>
        `This model received ${requestsFrom(count, keys, isExact)} in the last 24 hours.`,
    },
  },
}
