/** The plugin: which files open in a timeline or a monitor, and the tab that shows them. */

import type { App, Context, DocumentWidget, Packages, Restorer } from "./jupyterlab";
import type showFile from "./view";
import type { SaveNotes } from "./view";

const MODEL = "tfvis-nb";

/**
 * A name of an extension may have several parts; the longest that fits decides. Any .pb opens in a timeline: JupyterLab
 * itself cannot show one, and the timeline explains a SavedModel.
 */
const TYPES = {
  "tfvis-nb-trace": {
    displayName: "Trace",
    extensions: [".pb", ".pb.gz", ".pb.xz", ".trace.json", ".trace.json.gz", ".tfvis.parquet"],
  },
  "tfvis-nb-session": { displayName: "Trace session", extensions: [".tfvis"] },
  // These may hold anything, and open in a timeline only if the user wants it. So they keep JupyterLab's icon.
  "tfvis-nb-perhaps": {
    displayName: "Data",
    extensions: [".pbtxt", ".json.gz", ".parquet"],
    // JupyterLab 4.6 logs an error when its editor opens a file of a type without one.
    mimeTypes: ["text/plain"],
  },
};

const VIEWS = [
  {
    name: "Timeline",
    fileTypes: ["tfvis-nb-trace", "tfvis-nb-perhaps", "json"],
    defaultFor: ["tfvis-nb-trace"],
  },
  { name: "Trace monitor", fileTypes: ["tfvis-nb-session"], defaultFor: ["tfvis-nb-session"] },
];

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 22 22">
<g class="jp-icon3 jp-icon-selectable" fill="#616161"><path d="M2 4h11v3H2zM6 9.5h14v3H6zM2 15h6v3H2zM10 15h8v3h-8z"/></g></svg>`;

export function plugin(packages: Packages, viewAddress: string) {
  return {
    id: "tfvis-nb:files",
    description: "Opens trace files in a timeline.",
    autoStart: true,
    optional: [packages.application.ILayoutRestorer],
    activate: (app: App, restorer: Restorer | null) => activate(app, restorer, packages, viewAddress),
  };
}

function activate(app: App, restorer: Restorer | null, packages: Packages, viewAddress: string): void {
  const { docRegistry } = app;
  const icon = new packages.icons.LabIcon({ name: "tfvis-nb:timeline", svgstr: ICON });
  const opened = VIEWS.flatMap(({ defaultFor }) => defaultFor);
  for (const [name, type] of Object.entries(TYPES))
    docRegistry.addFileType({
      ...{ name, ...type, fileFormat: "base64" },
      ...(opened.includes(name) && { icon }),
    });
  docRegistry.addModelFactory(modelFactory(packages));
  for (const view of VIEWS) {
    const tracker = new packages.apputils.WidgetTracker({ namespace: view.defaultFor[0] });
    const factory = widgetFactory(app, packages, view, viewAddress);
    factory.widgetCreated.connect((_, widget) => {
      widget.title.icon = icon;
      void tracker.add(widget);
      widget.context.pathChanged.connect(() => void tracker.save(widget));
    });
    docRegistry.addWidgetFactory(factory);
    // Notebook 7 shows one document on a page and restores none.
    void restorer?.restore(tracker, {
      command: "docmanager:open",
      args: (widget) => ({ path: widget.context.path, factory: view.name }),
      name: (widget) => widget.context.path,
    });
  }
}

/** A model without contents: JupyterLab loads no file for it. */
function modelFactory({ docregistry }: Packages) {
  return new (class extends docregistry.TextModelFactory {
    get name() {
      return MODEL;
    }
    get contentType() {
      return "file";
    }
    get fileFormat() {
      return null;
    }
  })();
}

function widgetFactory(app: App, packages: Packages, view: (typeof VIEWS)[number], viewAddress: string) {
  const { ABCWidgetFactory, DocumentWidget } = packages.docregistry;
  return new (class extends ABCWidgetFactory {
    constructor() {
      super({ ...view, label: view.name, modelName: MODEL });
    }
    createNewWidget(context: Context): DocumentWidget {
      const content = fileWidget(app, packages, context, viewAddress);
      const widget = new DocumentWidget({ content, context });
      widget.toolbar.hide();
      return widget;
    }
  })();
}

/** What saves the notes of those views of a file that have unsaved ones; a file can be open in several. */
const unsaved = new WeakMap<Context, Set<SaveNotes>>();

/**
 * JupyterLab would save the empty model over the file, and copies a file that it can save as a checkpoint. Instead it
 * saves notes, as a page, and asks before it closes a file with unsaved ones. Returns what saves those.
 */
function saveNotesOnly(context: Context): Set<SaveNotes> {
  const known = unsaved.get(context);
  if (known) return known;
  const notes = new Set<SaveNotes>();
  unsaved.set(context, notes);
  const saved = async () => {
    for (const save of notes) await save();
    return true;
  };
  // Not the shared model's: a server that shares documents would save it.
  Object.defineProperty(context.model, "dirty", { get: () => notes.size > 0, set: () => {} });
  const contents = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(context), "contentsModel");
  Object.defineProperties(context, {
    canSave: { value: false },
    contentsModel: {
      get() {
        const model = contents?.get?.call(this);
        return model && { ...model, writable: true };
      },
    },
    save: { value: saved },
    saveAs: { value: saved },
    createCheckpoint: { value: async () => {} },
  });
  return notes;
}

function fileWidget(app: App, { widgets }: Packages, context: Context, viewAddress: string) {
  const { path } = context;
  const { contents, serverSettings } = app.serviceManager;
  return new (class extends widgets.Widget {
    readonly #shown = new AbortController();
    readonly #unsaved = saveNotesOnly(context);
    #notes: SaveNotes | undefined;
    readonly #save: SaveNotes = async () => this.#notes?.();

    constructor() {
      super();
      this.addClass("tfvis-nb-file");
      void this.#show();
    }

    async #show(): Promise<void> {
      const { signal } = this.#shown;
      const view = (await import(viewAddress)) as { default: typeof showFile };
      // Other drives than the server's own have a name, and their files are elsewhere.
      const name = contents.driveName(path) === "RTC" ? contents.localPath(path) : path;
      if (signal.aborted) return;
      const socket = connect(serverSettings);
      this.#notes = await view.default(this.node, socket, name, signal, this.#changed);
    }

    readonly #changed = (areUnsaved: boolean) => {
      const oldValue = context.model.dirty;
      if (areUnsaved) this.#unsaved.add(this.#save);
      else this.#unsaved.delete(this.#save);
      const newValue = context.model.dirty;
      if (oldValue !== newValue) context.model.triggerStateChange({ name: "dirty", oldValue, newValue });
    };

    override dispose(): void {
      this.#shown.abort();
      this.#unsaved.delete(this.#save);
      super.dispose();
    }
  })();
}

/** A connection to our half of the server, as JupyterLab itself connects to kernels. */
function connect({
  wsUrl,
  token,
  appendToken,
  WebSocket,
}: App["serviceManager"]["serverSettings"]): WebSocket {
  const address = new URL("tfvis-nb/file", wsUrl);
  if (appendToken && token) address.searchParams.set("token", token);
  return new WebSocket(address);
}
