// Formats the results of a migration under load as Markdown.
import { runLines, table, whole, type Run } from "../harness.ts";
import { percentile } from "../load/statistics.ts";
import { LOOK_MS, type Waits } from "./lock-watch.ts";
import type { Course, Phase } from "./measure-migration.ts";
import { MIGRATION } from "./steps.ts";

/** The writer's application name. All names except this and MIGRATION are readers. */
const WRITER = "bench writer";

export function migrationPage(
  course: Course,
  run: Run,
  { trades, seconds }: { trades: number; seconds: number },
): string[] {
  const { phases } = course;
  const errors = phases.flatMap((phase) => phase.errors);
  const answers = phases.reduce((sum, { rest, graphql }) => sum + rest.length + graphql.length, 0);
  return [
    "# A migration under load",
    runLines(
      run,
      `${whole(trades)} trades; the service with \`CACHE_BYTES=0\`, read by four clients of REST and three of ` +
        "GraphQL that pause 25 ms after each answer; a writer of five blocks a second, each with a trade",
    ),
    `**${whole(errors.length)} errors** in ${whole(answers)} answers; the writer wrote ` +
      `${whole(course.written)} trades. The longest wait for a lock: ` +
      `${milliseconds(longest(phases, isReader))} of a reader, ` +
      `${milliseconds(longest(phases, (name) => name === WRITER))} of the writer, ` +
      `${milliseconds(longest(phases, (name) => name === MIGRATION))} of the migration itself. ` +
      `Waits are polled every ${LOOK_MS} ms.`,
    table(
      [
        ...["step", "seconds", "tries", "REST p50, p99, most", "GraphQL p50, p99, most", "errors"],
        ...["a reader waited", "the writer", "the migration"],
      ],
      phases.map(row),
    ),
    `Milliseconds. \`before\` and \`after\` are ${seconds} s each without a change of the schema. The steps ` +
      "are those of [db/examples/day](../../../db/examples/day/README.md).",
    errors
      .slice(0, 20)
      .map((error) => `- ${error}`)
      .join("\n"),
  ].filter(Boolean);
}

const row = (phase: Phase): string[] => [
  phase.name.endsWith(".sql") ? `\`${phase.name}\`` : phase.name,
  phase.seconds.toFixed(phase.seconds < 10 ? 2 : 0),
  String(phase.tries),
  spread(phase.rest),
  spread(phase.graphql),
  String(phase.errors.length),
  milliseconds(longest([phase], isReader)),
  milliseconds(longest([phase], (name) => name === WRITER)),
  milliseconds(longest([phase], (name) => name === MIGRATION)),
];

const isReader = (name: string): boolean => name !== WRITER && name !== MIGRATION;

/** The longest wait of the matching applications; 0 if none was observed. */
const longest = (phases: { waits: Waits }[], isOf: (name: string) => boolean): number =>
  phases
    .flatMap(({ waits }) => Object.entries(waits))
    .reduce((most, [name, waited]) => (isOf(name) ? Math.max(most, waited) : most), 0);

const milliseconds = (value: number): string => (value === 0 ? "none" : `${value.toFixed(0)} ms`);

function spread(latencies: number[]): string {
  if (latencies.length === 0) return "";
  return [0.5, 0.99, 1].map((share) => percentile(latencies, share).toFixed(0)).join(", ");
}
