/** The part of JupyterLab that the extension uses; JupyterLab shares its packages at run time. */

export interface Signal<T> {
  connect(listener: (sender: unknown, argument: T) => void): void;
}

export interface Context {
  path: string;
  pathChanged: Signal<string>;
  model: {
    dirty: boolean;
    triggerStateChange(change: { name: "dirty"; oldValue: boolean; newValue: boolean }): void;
  };
}

export interface Widget {
  id: string;
  node: HTMLElement;
  addClass(name: string): void;
  dispose(): void;
}

export interface DocumentWidget extends Widget {
  context: Context;
  toolbar: Widget & { hide(): void };
  title: { icon: unknown };
}

interface FileType {
  name: string;
  displayName: string;
  extensions: string[];
  fileFormat: "base64" | "text";
  icon?: unknown;
}

interface FactoryOptions {
  name: string;
  label: string;
  modelName: string;
  fileTypes: string[];
  defaultFor: string[];
}

export interface App {
  docRegistry: {
    addFileType(type: FileType): void;
    addModelFactory(factory: unknown): void;
    addWidgetFactory(factory: unknown): void;
  };
  serviceManager: {
    contents: { localPath(path: string): string; driveName(path: string): string };
    serverSettings: ServerSettings;
  };
}

interface ServerSettings {
  wsUrl: string;
  token: string;
  appendToken?: boolean;
  WebSocket: typeof WebSocket;
}

interface Tracker {
  add(widget: DocumentWidget): Promise<void>;
  save(widget: DocumentWidget): Promise<void>;
}

export interface Restorer {
  restore(
    tracker: Tracker,
    options: {
      command: string;
      args: (widget: DocumentWidget) => Record<string, string>;
      name: (widget: DocumentWidget) => string;
    },
  ): Promise<void>;
}

/** The modules of JupyterLab's own build. */
export interface Packages {
  application: { ILayoutRestorer: unknown };
  apputils: { WidgetTracker: new (options: { namespace: string }) => Tracker };
  docregistry: {
    ABCWidgetFactory: new (options: FactoryOptions) => { widgetCreated: Signal<DocumentWidget> };
    DocumentWidget: new (options: { content: Widget; context: Context }) => DocumentWidget;
    TextModelFactory: new () => object;
  };
  icons: { LabIcon: new (options: { name: string; svgstr: string }) => unknown };
  widgets: { Widget: new () => Widget };
}

interface Shared {
  get(): Promise<() => unknown>;
  loaded?: number | boolean;
  eager?: boolean;
}

/** Packages by name and version, as webpack shares them. */
export type ShareScope = Record<string, Record<string, Shared>>;

const NEEDED = [
  "@jupyterlab/application",
  "@jupyterlab/apputils",
  "@jupyterlab/docregistry",
  "@jupyterlab/ui-components",
  "@lumino/widgets",
];

/** The packages, each in the version that JupyterLab itself runs; null where one is missing. */
export async function packagesOf(scope: ShareScope): Promise<Packages | null> {
  if (NEEDED.some((name) => Object.keys(scope[name] ?? {}).length === 0)) return null;
  const load = async (name: string) => {
    const versions = Object.values(scope[name]);
    // Another extension may bring a version of its own, which JupyterLab has not loaded.
    const used = versions.find(({ loaded }) => loaded) ?? versions.find(({ eager }) => eager) ?? versions[0];
    return (await used.get())();
  };
  const [application, apputils, docregistry, icons, widgets] = await Promise.all(NEEDED.map(load));
  return { application, apputils, docregistry, icons, widgets } as Packages;
}
