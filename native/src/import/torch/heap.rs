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
    /// A tensor in a form that is not read, by the name of its class, of the type of its numbers, or of the function that makes it.
    Unread(Rc<str>),
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

    /// The tensor in a form that is not read, such as sparse or quantised, if the call of a function of PyTorch makes one.
    pub(super) fn unread(&self, function: &Rc<str>, arguments: &[Id]) -> Option<Value> {
        let (_, name) = function.strip_prefix("torch.")?.rsplit_once('.')?;
        let place_of_class = match name.strip_prefix("_rebuild_")? {
            "from_type" | "from_type_v2" => Some(1),
            "wrapper_subclass" => Some(0),
            "tensor_v3" => Some(6),
            _ => None,
        };
        let class = place_of_class.and_then(|at| arguments.get(at)).map(|&id| self.get(id));
        let form = if let Some(Value::Class(class)) = class { class } else { function };
        Some(Value::Unread(Rc::clone(form)))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }
}
