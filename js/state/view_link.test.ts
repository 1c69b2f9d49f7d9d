import { expect, it } from "vitest";
import type { SavedView } from "../model/view";
import { linkTo, viewIn } from "./view_link";

const NEW: SavedView = {
  start: 2_000_000,
  end: 3_000_000,
  step: null,
  hidden: [],
  pinned: [],
  details: true,
  graph: false,
  code: false,
  group_by: "device",
  color_by: "kind",
  lane_filter: "",
  selection: null,
};

const WHOLE: SavedView = {
  ...NEW,
  start: -10,
  step: 3,
  details: false,
  code: true,
  group_by: "none",
  color_by: "op",
  lane_filter: "a;b=<i>&%",
  hidden: [
    ["/job:ps", "/job:ps/device:CPU:0", "x,y;z"],
    ["counter", "", "", "a\u0001\"'", ""],
  ],
  pinned: [["worker"]],
  selection: { start: 5, end: 9, lanes: [0, 3], step: 3 },
};

it("a link holds the settings that differ from a new timeline, and is read back", () => {
  expect(linkTo(NEW)).toBe("#view=2000000..3000000");
  expect(linkTo({ ...NEW, selection: { events: [12, 7] }, group_by: "kind" })).toBe(
    "#view=2000000..3000000;group=kind;events=12,7",
  );
  for (const view of [NEW, WHOLE, { ...NEW, selection: { events: [0] } }]) {
    const link = linkTo(view);
    expect(link).toMatch(/^[#-;=?-Z_a-z%~!]*$/);
    expect(viewIn(new URL(link, "https://a.b/c").hash)).toEqual(view);
  }
});

it.each([
  ["", "times"],
  ["1", "times"],
  ["5..5", "times"],
  ["9..2", "times"],
  ["1..2..3", "times"],
  ["1..x", "times"],
  ["1..99999999999999999999", "times"],
  ["1..2;group=lane", "group"],
  ["1..2;step=1.5", "step"],
  ["1..2;panes=details,constructor", "panes"],
  ["1..2;events=1,-", "events"],
  ["1..2;range=5..5", "range"],
  ["1..2;range=5..6;lanes=a", "lanes"],
  ["1..2;hide=%", "hide"],
  ["1..2;other=1", "other"],
  ["1..2;__proto__=1", "__proto__"],
  ["1..2;<img src=x>", "<img src"],
  [`1..2;filter=${"a".repeat(30_000)}`, "length"],
])("no view can be read of %j, because of its %s", (text, part) => {
  expect(viewIn(`#view=${text}`)).toBe(part);
});

it("other ends of an address are not of views", () => {
  for (const hash of ["", "#", "#top", "#views=1..2"]) expect(viewIn(hash)).toBeUndefined();
});
