//! The running server, as handlers and background tasks see it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::Error;
use crate::handler::dynamic::{
    DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool, Item, ItemKind,
};
use crate::handler::rules;
use crate::protocol::encode::ListKind;

/// A running server: send change notices, change what is registered, stop it. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle(pub(crate) Arc<dyn Control>);

impl ServerHandle {
    /// The tools, to add to or to take from.
    #[must_use]
    pub fn tools(&self) -> Editor<DynamicTool> {
        Editor::new(&self.0)
    }

    /// The prompts, to add to or to take from.
    #[must_use]
    pub fn prompts(&self) -> Editor<DynamicPrompt> {
        Editor::new(&self.0)
    }

    /// The resources with an address of their own, to add to or to take from; named by address.
    #[must_use]
    pub fn resources(&self) -> Editor<DynamicResource> {
        Editor::new(&self.0)
    }

    /// The resource templates, to add to or to take from; named by the text of the template.
    #[must_use]
    pub fn resource_templates(&self) -> Editor<DynamicTemplate> {
        Editor::new(&self.0)
    }

    /// Tells clients that something changed.
    #[must_use]
    pub fn notify(&self) -> Notifier {
        Notifier(Arc::clone(&self.0))
    }

    /// Stops the server: calls that run, and those that came before and wait for their turn, may finish within
    /// [`Limits::drain`](crate::Limits::drain). Requests that come later are refused; cancels are still heard.
    pub fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}

/// Changes one list of a running server. Clients that follow the list are told by themselves, and only if it changed.
///
/// Calls under way are not disturbed: they finish with the definition they started with.
///
/// Before the server starts, changes are only noted: whether they can be made, and whether they change anything, shows when
/// it starts, and [`names`](Self::names) is empty until then.
#[derive(Clone)]
pub struct Editor<D> {
    control: Arc<dyn Control>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> Editor<D> {
    fn new(control: &Arc<dyn Control>) -> Self {
        Self {
            control: Arc::clone(control),
            kind: PhantomData,
        }
    }

    /// Adds a definition.
    ///
    /// # Errors
    ///
    /// [`Duplicate`](crate::ErrorKind::Duplicate) if the name is taken, also by a disabled definition;
    /// [`Configuration`](crate::ErrorKind::Configuration) with everything that is wrong with it.
    pub fn insert(&self, definition: D) -> Result<(), Error> {
        self.apply(Step::Insert(definition.into_item())).map(drop)
    }

    /// Puts a definition in the place of the one of its name, or adds it. It is enabled then.
    ///
    /// # Errors
    ///
    /// [`Configuration`](crate::ErrorKind::Configuration) with everything that is wrong with it.
    pub fn replace(&self, definition: D) -> Result<(), Error> {
        self.apply(Step::Replace(definition.into_item())).map(drop)
    }

    /// Takes a definition away, however it came. Returns whether there was one.
    ///
    /// Before the start, a name that nothing has is a start-up error; then this returns `true`.
    #[allow(clippy::must_use_candidate, reason = "the answer is a courtesy")]
    pub fn remove(&self, name: &str) -> bool {
        self.apply(Step::Remove(name.into())).unwrap_or(false)
    }

    /// Shows a disabled definition again. Returns whether that changed anything.
    ///
    /// Before the start, a name that nothing has is a start-up error; then this returns `true`.
    #[allow(clippy::must_use_candidate, reason = "the answer is a courtesy")]
    pub fn enable(&self, name: &str) -> bool {
        self.apply(Step::Enable(name.into())).unwrap_or(false)
    }

    /// Hides a definition: clients neither see it nor can use it. Returns whether that changed anything.
    ///
    /// Before the start, a name that nothing has is a start-up error, because what was misspelt would be served; then this
    /// returns `true`.
    #[allow(clippy::must_use_candidate, reason = "the answer is a courtesy")]
    pub fn disable(&self, name: &str) -> bool {
        self.apply(Step::Disable(name.into())).unwrap_or(false)
    }

    /// The names of all enabled definitions, in the order of the list.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.control.names(D::LIST)
    }

    /// Makes several changes at once: all or none, and one notice.
    ///
    /// Returns whether the list changed.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert), for the first definition that cannot be taken.
    pub fn edit(&self, changes: impl FnOnce(&mut Batch<D>)) -> Result<bool, Error> {
        let mut batch = Batch {
            steps: Vec::new(),
            kind: PhantomData,
        };
        changes(&mut batch);
        self.control.edit(Edit {
            list: D::LIST,
            steps: batch.steps,
        })
    }

    fn apply(&self, step: Step) -> Result<bool, Error> {
        self.control.edit(Edit {
            list: D::LIST,
            steps: vec![step],
        })
    }
}

impl<D: ItemKind> fmt::Debug for Editor<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor")
            .field("list", &D::LIST)
            .finish_non_exhaustive()
    }
}

/// Changes collected by [`Editor::edit`], made together, in order.
pub struct Batch<D> {
    steps: Vec<Step>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> Batch<D> {
    /// Adds a definition; an error of the whole if the name is taken.
    pub fn insert(&mut self, definition: D) -> &mut Self {
        self.step(Step::Insert(definition.into_item()))
    }

    /// Puts a definition in the place of the one of its name, or adds it.
    pub fn replace(&mut self, definition: D) -> &mut Self {
        self.step(Step::Replace(definition.into_item()))
    }

    /// Takes a definition away, if there is one.
    pub fn remove(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(Step::Remove(name.into()))
    }

    /// Shows a disabled definition again.
    pub fn enable(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(Step::Enable(name.into()))
    }

    /// Hides a definition.
    pub fn disable(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(Step::Disable(name.into()))
    }

    fn step(&mut self, step: Step) -> &mut Self {
        self.steps.push(step);
        self
    }
}

impl<D: ItemKind> fmt::Debug for Batch<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("list", &D::LIST)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

/// Tells clients that something changed. Changes made through [`ServerHandle::tools`] and the like tell by themselves.
#[derive(Clone)]
pub struct Notifier(Arc<dyn Control>);

impl Notifier {
    /// The list of tools is not what it was.
    pub fn tools_changed(&self) {
        self.0.notify(Change::List(ListKind::Tools));
    }

    /// The list of prompts is not what it was.
    pub fn prompts_changed(&self) {
        self.0.notify(Change::List(ListKind::Prompts));
    }

    /// The list of resources or of resource templates is not what it was.
    pub fn resources_changed(&self) {
        self.0.notify(Change::List(ListKind::Resources));
    }

    /// What is at this address is not what it was. Reaches the clients that follow exactly this address.
    ///
    /// What is no address, because something in it should be [percent-encoded](crate::percent_encode), is told to nobody, and is
    /// an error in the log.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        let uri = uri.into();
        match rules::uri(&uri).into_result() {
            Ok(()) => self.0.notify(Change::Resource(uri)),
            Err(problem) => tracing::error!(problem, "a changed resource is told to nobody"),
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

/// Something clients may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    List(ListKind),
    Resource(String),
}

/// A list of definitions that clients can page through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl List {
    /// Which notice tells of a change. Templates share that of resources.
    pub(crate) fn kind(self) -> ListKind {
        match self {
            Self::Tools => ListKind::Tools,
            Self::Prompts => ListKind::Prompts,
            Self::Resources | Self::Templates => ListKind::Resources,
        }
    }
}

/// Changes of one list, made together or not at all.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) list: List,
    pub(crate) steps: Vec<Step>,
}

/// One change of a list.
#[derive(Debug)]
pub(crate) enum Step {
    Insert(Item),
    Replace(Item),
    Remove(String),
    Enable(String),
    Disable(String),
}

/// What a handle can make the server do; implemented by `dispatch`.
pub(crate) trait Control: Send + Sync {
    fn notify(&self, change: Change);
    /// Whether the list changed. The server has told its clients then.
    fn edit(&self, edit: Edit) -> Result<bool, Error>;
    /// The names of what is enabled, in order.
    fn names(&self, list: List) -> Vec<String>;
    fn shut_down(&self);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::handler::dynamic::Arguments;

    /// Writes down what it is asked to do.
    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl Recorder {
        fn write(&self, line: String) {
            self.0.lock().unwrap().push(line);
        }
    }

    impl Control for Recorder {
        fn notify(&self, change: Change) {
            self.write(format!("{change:?}"));
        }

        fn edit(&self, edit: Edit) -> Result<bool, Error> {
            self.write(format!("{:?} {:?}", edit.list, edit.steps));
            Ok(true)
        }

        fn names(&self, list: List) -> Vec<String> {
            vec![format!("{list:?}")]
        }

        fn shut_down(&self) {
            self.write("shut down".into());
        }
    }

    fn prompt(name: &str) -> DynamicPrompt {
        DynamicPrompt::new(name, |_: Arguments, _| async { String::new() })
    }

    #[test]
    fn every_change_reaches_the_server() {
        let recorder = Arc::new(Recorder::default());
        let server = ServerHandle(Arc::clone(&recorder) as Arc<dyn Control>);
        server.prompts().insert(prompt("a")).unwrap();
        server.prompts().replace(prompt("a")).unwrap();
        assert!(server.tools().remove("t"));
        assert!(server.resources().disable("x:y"));
        assert!(server.resource_templates().enable("x:{y}"));
        assert_eq!(server.resource_templates().names(), ["Templates"]);
        let changed = server.prompts().edit(|prompts| {
            prompts.remove("a").insert(prompt("b"));
        });
        assert!(changed.unwrap());
        server.notify().tools_changed();
        server.notify().prompts_changed();
        server.notify().resources_changed();
        server.notify().resource_updated("x:y");
        server.notify().resource_updated("x:a b");
        server.shut_down();
        let lines = recorder.0.lock().unwrap().join("\n");
        expect_test::expect![[r#"
            Prompts [Insert(Prompt(DynamicPrompt { name: "a", .. }))]
            Prompts [Replace(Prompt(DynamicPrompt { name: "a", .. }))]
            Tools [Remove("t")]
            Resources [Disable("x:y")]
            Templates [Enable("x:{y}")]
            Prompts [Remove("a"), Insert(Prompt(DynamicPrompt { name: "b", .. }))]
            List(Tools)
            List(Prompts)
            List(Resources)
            Resource("x:y")
            shut down"#]]
        .assert_eq(&lines);
    }
}
