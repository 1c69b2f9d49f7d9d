/** The records nested in an event: outputs, memory, tensors it used. */

import { isolated } from "../../model/format/bidi";
import { formatBytes } from "../../model/format/units";
import type { Buffer, Memory, Output, OwnMemory, Referenced } from "../../model/wire/records";

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
      <table aria-label="Outputs">
        <thead>
          <tr>
            <th>Type</th>
            <th>Shape</th>
            <th>Size</th>
            {hasBuffers && <th title={BUFFER}>Buffer</th>}
          </tr>
        </thead>
        <tbody>
          {outputs.map((output) => (
            <tr key={output.slot}>
              <td>
                {output.slot}: {isolated(output.dtype || "unknown")}
              </td>
              <td>{isolated(output.shape)}</td>
              <td>{size(output.bytes)}</td>
              {hasBuffers && <td>{named(output.buffer)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
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
      {memory.length > 0 && (
        <table aria-label="Memory by allocator">
          <thead>
            <tr>
              <th>Allocator</th>
              <th title="All memory that this execution allocated">Total</th>
              <th title="Largest amount at one time">Peak</th>
              <th title="Memory still held at its end">Live</th>
            </tr>
          </thead>
          <tbody>
            {memory.map((record) => (
              <tr key={record.allocator}>
                <td title={record.allocator}>{record.allocator}</td>
                <td>{size(record.total)}</td>
                <td>{size(record.peak)}</td>
                <td>{size(record.live)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {held.map((sentence) => (
        <p key={sentence} class="unlinked">
          {sentence}
        </p>
      ))}
      {referenced.length > 0 && (
        <table aria-label="Memory referenced">
          <thead>
            <tr>
              <th title="Tensors that this execution used, by the allocator of their memory">Referenced</th>
              <th>Size</th>
              <th title={BUFFER}>Buffer</th>
            </tr>
          </thead>
          <tbody>
            {referenced.map((tensor) => (
              <tr>
                <td title={tensor.allocator}>{tensor.allocator}</td>
                <td>{size(tensor.bytes)}</td>
                <td>{named(tensor.buffer)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
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
