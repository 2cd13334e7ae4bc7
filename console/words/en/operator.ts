/** The operator's pages. English. */

export const operator = {
  upstreams: {
    title: 'Upstreams',
    lead: 'The places that serve models: a provider, an address, a credential. First tried first.',
    add: 'Add an upstream',
    addTitle: 'Add an upstream',
    editTitle: (name: string) => `Change ${name}`,
    none: 'No upstream yet',
    noneLead: 'An upstream is an account of yours with a provider. Add one, then offer its models.',
    name: 'Name',
    nameHint: 'How you and the records call it',
    provider: 'Provider',
    baseUrl: 'Address',
    baseUrlHint: 'What a client of this provider would be given',
    credential: 'Credential',
    credentialHint: 'Kept sealed, never shown again',
    credentialKept: 'Empty keeps the one that is there',
    priority: 'Priority',
    priorityHint: 'Lower is tried first',
    weight: 'Weight',
    weightHint: 'Among those of one priority',
    state: 'State',
    on: 'in use',
    off: 'switched off',
    enable: 'Switch on',
    disable: 'Switch off',
    models: 'Models',
    changed: 'Changed',
    test: 'Test',
    testModel: 'Model to ask',
    testModelHint: 'The provider’s own name for it',
    addAndTest: 'Save and test',
    addOff:
      'It is saved switched off and tested; requests reach it once the test has passed and you switch it on.',
    passed: (ms: string) => `It answered in ${ms}.`,
    failedTest: 'The test failed. Nothing is sent to it until you switch it on.',
    useNow: 'Switch on',
    advanced: 'Time-outs and more',
    connectMs: 'Connect, ms',
    firstTokenMs: 'First token, ms',
    idleMs: 'Silence in a stream, ms',
    answerMs: 'Whole answer, ms',
    onAbort: 'When the caller leaves',
    cancel: 'end the request',
    drain: 'read to the end',
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteEffect: (models: number) =>
      models === 0
        ? 'No model is routed to it. Its credential is destroyed.'
        : `${models} ${models === 1 ? 'model is' : 'models are'} still routed to it; change their routes first.`,
    deleted: 'The upstream is deleted.',
    disableTitle: (name: string) => `Switch ${name} off?`,
    disableEffect: (models: string) =>
      models === ''
        ? 'No model uses it.'
        : `No new request goes to it. These models are routed to it: ${models}. Running requests end as they are.`,
    disabled: 'No new request goes to it.',
    enabled: 'It takes requests from now on.',
  },
}
