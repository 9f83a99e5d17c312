//! The values of a pickle.

use std::rc::Rc;

/// Number of a value in its heap.
pub(super) type Id = usize;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Text(Rc<str>),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A class or a function, by its full name.
    Class(Rc<str>),
    Storage(Rc<Storage>),
    Tensor(Rc<View>),
    /// Anything else, by the name of its class.
    Object(Rc<str>),
}

/// Numbers at another place in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Storage {
    pub(super) key: Rc<str>,
    /// `torch.FloatStorage`, ...
    pub(super) class: Rc<str>,
    pub(super) count: usize,
}

impl Storage {
    /// `FloatStorage`, ...
    pub(super) fn kind(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }
}

/// A tensor: a strided view of a storage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct View {
    pub(super) storage: Rc<Storage>,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// All values of a pickle.
#[derive(Debug, Default)]
pub(super) struct Heap {
    pub(super) values: Vec<Value>,
}

impl Heap {
    pub(super) fn get(&self, id: Id) -> &Value {
        self.values.get(id).unwrap_or(&Value::None)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }
}
