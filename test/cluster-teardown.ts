// Stops the PostgreSQL of the test run, where it was the run's own.
export default async function tearDownCluster(): Promise<void> {
  const { stopTestCluster } = globalThis as { stopTestCluster?: () => Promise<void> };
  await stopTestCluster?.();
}
