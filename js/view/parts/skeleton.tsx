/** The frame that everything else is put into; each part is found by its data-part. */

/** Finds a part of a rendered skeleton by its name. */
export type FindPart = (name: string) => HTMLElement;

interface SkeletonProps {
  /** How much there is to see. */
  extent: string;
  /** Whether legend, details and help stand around this timeline and the one that it is compared with. */
  isSide: boolean;
}

export function Skeleton({ extent, isSide }: SkeletonProps) {
  return (
    <>
      <div data-part="toolbar" style={{ display: "contents" }} />
      <div data-part="headline" style={{ display: "contents" }} />
      <div data-part="steps" style={{ display: "contents" }} />
      <div class="body">
        <div class="column">
          <div class="main" data-part="main">
            <div class="corner">Activity</div>
            <div
              class="minimap"
              data-part="minimap"
              role="img"
              aria-label="Activity over time"
              title="Drag to choose the visible part"
            />
            <div class="corner filter" data-part="filter" data-focus="input" />
            <div class="ruler" data-part="ruler" role="img" aria-label="Time axis">
              <div data-part="cursor" />
            </div>
            <div data-part="annotations" style={{ display: "contents" }} />
            <div
              class="labels"
              data-part="labels"
              data-focus="[tabindex='0']"
              role="group"
              aria-label="Lanes"
            />
            <div
              class="lanes"
              data-part="lanes"
              role="application"
              aria-roledescription="timeline"
              aria-label={extent}
              aria-description="Arrow keys go from event to event, ? lists all keys."
            >
              <div class="scroll" data-part="scroll" tabIndex={-1}>
                <div style={{ width: "1px" }} />
              </div>
              <div data-part="progress" />
              <div class="wheel-hint" data-part="hint" hidden />
            </div>
            <div
              class="splitter"
              data-part="splitter"
              role="separator"
              aria-orientation="vertical"
              aria-label="Width of the labels"
              aria-valuenow={196}
              tabIndex={0}
            />
            <div data-part="no-lanes" class="no-lanes-place" />
            <div data-part="tooltip" />
          </div>
          <div data-part="range" style={{ display: "contents" }} />
          <div data-part="graph" style={{ display: "contents" }} />
          <div data-part="code" style={{ display: "contents" }} />
        </div>
        {!isSide && <DetailsSplitter />}
        <div data-part="details" style={{ display: "contents" }} />
      </div>
      <div data-part="status" style={{ display: "contents" }} />
      <div
        class="grip"
        data-part="grip"
        role="separator"
        aria-label="Height of the timeline"
        aria-valuenow={560}
        tabIndex={0}
      />
      <div class="visually-hidden" data-part="announcer" />
      <div data-part="help" />
      <div data-part="menu" />
    </>
  );
}

export function DetailsSplitter() {
  return (
    <div
      class="splitter details-splitter"
      data-part="details-splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the details"
      aria-valuenow={318}
      tabIndex={0}
    />
  );
}
