/** The records nested in an event: outputs, memory, tensors it used. */

import { isolated } from "../../model/format/bidi";
import { formatBytes } from "../../model/format/units";
import type { Buffer, Memory, Output, OwnMemory, Referenced } from "../../model/wire/records";
import { PlainTable } from "../../ui/table";

const BUFFER =
  "The allocator's number for the memory; on CPUs each op counts anew. Shared: another tensor also used it.";

/** A number of bytes that may not have been recorded. */
const size = (bytes: number | null) => (bytes === null ? "–" : formatBytes(bytes));

const named = (buffer: Buffer | null) => {
  if (buffer === null) return "–";
  return buffer.isShared ? `${buffer.id}, shared` : `${buffer.id}`;
};

export function Outputs({ outputs }: { outputs: readonly Output[] }) {
  if (outputs.length === 0) return null;
  const hasBuffers = outputs.some(({ buffer }) => buffer !== null);
  return (
    <section>
      <h3>Outputs</h3>
      <PlainTable
        name="Outputs"
        heads={[["Type"], ["Shape"], ["Size"], hasBuffers && ["Buffer", BUFFER]]}
        rows={outputs.map(({ slot, dtype, shape, bytes, buffer }) => [
          `${slot}: ${isolated(dtype || "unknown")}`,
          isolated(shape),
          size(bytes),
          hasBuffers && named(buffer),
        ])}
      />
    </section>
  );
}

interface MemoryProps {
  memory: readonly Memory[];
  own: OwnMemory | null;
  referenced: readonly Referenced[];
}

export function RecordedMemory({ memory, own, referenced }: MemoryProps) {
  const held = own ? sentences(own) : [];
  if (memory.length === 0 && held.length === 0 && referenced.length === 0) return null;
  return (
    <section>
      <h3>Memory</h3>
      <PlainTable
        name="Memory by allocator"
        heads={[
          ["Allocator"],
          ["Total", "All memory that this execution allocated"],
          ["Peak", "Largest amount at one time"],
          ["Live", "Memory still held at its end"],
        ]}
        rows={memory.map(({ allocator, total, peak, live }) => [
          <span title={allocator}>{allocator}</span>,
          ...[total, peak, live].map(size),
        ])}
      />
      {held.map((sentence) => (
        <p key={sentence} class="unlinked">
          {sentence}
        </p>
      ))}
      <PlainTable
        name="Memory referenced"
        heads={[
          ["Referenced", "Tensors that this execution used, by the allocator of their memory"],
          ["Size"],
          ["Buffer", BUFFER],
        ]}
        rows={referenced.map(({ allocator, bytes, buffer }) => [
          <span title={allocator}>{allocator}</span>,
          size(bytes),
          named(buffer),
        ])}
      />
    </section>
  );
}

function sentences(own: OwnMemory): string[] {
  const ids = (texts: string) => (texts ? `, buffer${texts.includes(",") ? "s" : ""} ${texts}` : "");
  const kinds: [number | null, string, string][] = [
    [own.temp, "temporary", ""],
    [own.persistent, "persistent", own.persistentIds],
    [own.deviceTemp, "temporary on the device", ""],
    [own.devicePersistent, "persistent on the device", own.devicePersistentIds],
  ];
  return kinds
    .filter(([bytes, , texts]) => bytes || texts)
    .map(([bytes, kind, texts]) => `${formatBytes(bytes ?? 0)} ${kind}${ids(texts)}`);
}
