//! Reads a pickle without executing it. A pickle is a program that names classes and calls them; only calls that create
//! a tensor or a dictionary are interpreted, and of the others only the name is stored.
//!
//! Values lie in a [`Heap`], refer to each other by number, and share their contents, so that neither cycles nor
//! repeated references cost more than they do in the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::TorchError;
use super::heap::{Heap, Id, Storage, Value, View};

/// Objects in a pickle at most. A state dict of a thousand tensors has some ten thousand.
const MOST_OBJECTS: usize = 2_000_000;
/// Bytes of a pickle at most. That of a state dict has some hundred a tensor.
const MOST_BYTES: usize = 64 << 20;
/// Bytes of the name of a class or of the key of a storage at most.
pub(super) const LONGEST_NAME: usize = 1000;
/// Most bytes of all class names that are joined from two texts: each is joined once and then recalled.
const MOST_JOINED: usize = 1 << 20;
/// Dimensions of a tensor at most, as in PyTorch.
const MOST_SIDES: usize = 64;

/// Reads a pickle at the beginning of `input`: its values, its result, and its length.
pub(super) fn read(input: &[u8]) -> Result<(Heap, Id, usize), TorchError> {
    let mut machine = Machine {
        input,
        at: 0,
        heap: Heap::default(),
        stack: vec![],
        marks: vec![],
        memo: HashMap::new(),
        joined: 0,
    };
    loop {
        let (at, code) = (machine.at, machine.byte()?);
        if code == b'.' {
            let root = machine.pop()?;
            return Ok((machine.heap, root, machine.at));
        }
        machine.step(code, at)?;
        let Machine { heap, stack, marks, memo, .. } = &machine;
        if [heap.values.len(), stack.len(), marks.len(), memo.len()].into_iter().any(|n| n > MOST_OBJECTS) {
            return Err(machine.malformed("it holds more than two million objects"));
        }
        if machine.at > MOST_BYTES {
            return Err(machine.malformed("it goes on for more than 64 MiB"));
        }
    }
}

struct Machine<'a> {
    input: &'a [u8],
    at: usize,
    heap: Heap,
    stack: Vec<Id>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
    /// Bytes of the joined class names.
    joined: usize,
}

impl<'a> Machine<'a> {
    /// One instruction; the letters are those of Python's `pickle` module.
    fn step(&mut self, code: u8, at: usize) -> Result<(), TorchError> {
        match code {
            0x80 => self.take(1).map(drop),
            0x95 => self.take(8).map(drop),
            b'(' => self.mark(),
            b'0' => self.pop().map(drop),
            b'1' => self.after_mark().map(drop),
            b'2' => self.top().map(|top| self.stack.push(top)),
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'J' => self.integer::<4>(|bytes| i64::from(i32::from_le_bytes(bytes))),
            b'K' => self.integer::<1>(|[byte]| i64::from(byte)),
            b'M' => self.integer::<2>(|bytes| i64::from(u16::from_le_bytes(bytes))),
            0x8a => self.length::<1>().and_then(|length| self.long(length)),
            0x8b => self.length::<4>().and_then(|length| self.long(length)),
            b'G' => self.take(8).and_then(|_| self.object("float")),
            b'X' => self.length::<4>().and_then(|length| self.text(length)),
            0x8c | b'U' => self.length::<1>().and_then(|length| self.text(length)),
            0x8d => self.length::<8>().and_then(|length| self.text(length)),
            b'T' => self.length::<4>().and_then(|length| self.text(length)),
            b'B' => self.length::<4>().and_then(|length| self.bytes(length)),
            b'C' => self.length::<1>().and_then(|length| self.bytes(length)),
            0x8e | 0x96 => self.length::<8>().and_then(|length| self.bytes(length)),
            b')' => self.push(Value::Tuple(vec![])),
            b']' => self.push(Value::List(vec![])),
            b'}' => self.push(Value::Dict(vec![])),
            0x8f => self.object("set"),
            0x85..=0x87 => self.tuple(code - 0x84),
            b't' => self.after_mark().and_then(|items| self.push(Value::Tuple(items))),
            b'l' => self.after_mark().and_then(|items| self.push(Value::List(items))),
            b'd' => self.after_mark().and_then(|items| self.push(Value::Dict(pairs(&items)))),
            0x91 => self.after_mark().and_then(|_| self.object("frozenset")),
            b'a' => self.pop().and_then(|item| self.append(vec![item])),
            b'e' | 0x90 => self.after_mark().and_then(|items| self.append(items)),
            b's' => self.set_item(),
            b'u' => self.after_mark().and_then(|items| self.set_items(&items)),
            b'q' => self.length::<1>().and_then(|slot| self.memorise(slot as u64)),
            b'r' => self.length::<4>().and_then(|slot| self.memorise(slot as u64)),
            0x94 => self.memorise(self.memo.len() as u64),
            b'h' => self.length::<1>().and_then(|slot| self.recall(slot as u64)),
            b'j' => self.length::<4>().and_then(|slot| self.recall(slot as u64)),
            b'c' => self.class_of_lines(),
            0x93 => self.class_of_texts(),
            b'Q' => self.storage(),
            b'R' | 0x81 => self.call(),
            // Arguments by name are ignored.
            0x92 => self.pop().and_then(|_| self.call()),
            // The state of an object, which is ignored.
            b'b' => self.pop().and_then(|_| self.top()).map(drop),
            // Later protocols begin with their number.
            _ if self.input.first() != Some(&0x80) => Err(TorchError::Protocol),
            code => Err(TorchError::Instruction { code, at }),
        }
    }

    /// A class whose module and name are lines of the file.
    fn class_of_lines(&mut self) -> Result<(), TorchError> {
        let (module, name) = (self.line()?, self.line()?);
        self.class(&module, &name)
    }

    /// A class whose module and name are texts on the stack.
    fn class_of_texts(&mut self) -> Result<(), TorchError> {
        let (name, module) = (self.pop()?, self.pop()?);
        let (Value::Text(module), Value::Text(name)) = (self.heap.get(module), self.heap.get(name)) else {
            return Err(self.malformed("a class without a name"));
        };
        let (module, name) = (Rc::clone(module), Rc::clone(name));
        self.joined += module.len() + name.len();
        if self.joined > MOST_JOINED {
            return Err(self.malformed("the names of its classes are put together too often"));
        }
        self.class(&module, &name)
    }

    fn class(&mut self, module: &str, name: &str) -> Result<(), TorchError> {
        if module.len() + name.len() > LONGEST_NAME {
            return Err(self.malformed("the name of a class is too long"));
        }
        self.push(Value::Class(format!("{module}.{name}").into()))
    }

    /// The result of a function of PyTorch; for any other function, its name.
    fn call(&mut self) -> Result<(), TorchError> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        let Value::Class(name) = self.heap.get(class) else {
            return Err(self.malformed("something is called that is no function"));
        };
        let Value::Tuple(arguments) = self.heap.get(arguments) else {
            return Err(self.malformed("a function is called without a tuple of arguments"));
        };
        match (&**name, arguments.as_slice()) {
            ("collections.OrderedDict", []) => self.push(Value::Dict(vec![])),
            // As Python 2 writes it: a list of pairs, each a list too.
            ("collections.OrderedDict", &[items]) => {
                let Some(entries) = self.entries(items) else {
                    return Err(self.malformed("an ordered dictionary is made of something else than pairs"));
                };
                self.push(Value::Dict(entries))
            }
            (
                "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state",
                &[data, ..],
            ) => {
                self.stack.push(data);
                Ok(())
            }
            (
                "torch._utils._rebuild_tensor" | "torch._utils._rebuild_tensor_v2",
                &[storage, offset, shape, strides, ..],
            ) => {
                let view =
                    match (self.heap.get(storage), self.size(offset), self.sizes(shape), self.sizes(strides))
                    {
                        (Value::Storage(storage), Some(offset), Some(shape), Some(strides)) => {
                            View { storage: Rc::clone(storage), offset, shape, strides }
                        }
                        _ => return Err(self.malformed("a tensor without storage, shape or strides")),
                    };
                self.push(Value::Tensor(Rc::new(view)))
            }
            (_, arguments) => {
                let unread = self.heap.unread(name, arguments);
                let value = unread.unwrap_or_else(|| Value::Object(Rc::clone(name)));
                self.push(value)
            }
        }
    }

    /// `("storage", class, key, device, count)`
    fn storage(&mut self) -> Result<(), TorchError> {
        let id = self.pop()?;
        let Value::Tuple(parts) = self.heap.get(id) else {
            return Err(self.malformed("a reference that is no storage"));
        };
        let part = |at: usize| parts.get(at).map_or(&Value::None, |&id| self.heap.get(id));
        let storage = match (part(0), part(1), part(2), part(4), part(5)) {
            (Value::Text(word), Value::Class(class), Value::Text(key), Value::Int(count), Value::None)
                if &**word == "storage" =>
            {
                if key.len() > LONGEST_NAME {
                    return Err(self.malformed("the key of a storage is too long"));
                }
                let count =
                    usize::try_from(*count).map_err(|_| self.malformed("a storage of negative size"))?;
                Storage { key: Rc::clone(key), class: Rc::clone(class), count }
            }
            _ => return Err(self.malformed("a reference that is no storage")),
        };
        self.push(Value::Storage(Rc::new(storage)))
    }

    fn size(&self, id: Id) -> Option<usize> {
        match self.heap.get(id) {
            Value::Int(value) => usize::try_from(*value).ok(),
            _ => None,
        }
    }

    fn sizes(&self, id: Id) -> Option<Vec<usize>> {
        match self.heap.get(id) {
            Value::Tuple(items) if items.len() <= MOST_SIDES => {
                items.iter().map(|&item| self.size(item)).collect()
            }
            _ => None,
        }
    }

    /// The pairs in a list of them.
    fn entries(&self, items: Id) -> Option<Vec<(Id, Id)>> {
        let (Value::List(items) | Value::Tuple(items)) = self.heap.get(items) else { return None };
        let pair = |item: &Id| match self.heap.get(*item) {
            Value::List(pair) | Value::Tuple(pair) => {
                <[Id; 2]>::try_from(pair.as_slice()).ok().map(Into::into)
            }
            _ => None,
        };
        items.iter().map(pair).collect()
    }

    /// A tuple of the latest `count` values.
    fn tuple(&mut self, count: u8) -> Result<(), TorchError> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<Id>, _>>()?;
        items.reverse();
        self.push(Value::Tuple(items))
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), TorchError> {
        let id = self.top()?;
        if let Some(Value::List(list)) = self.heap.values.get_mut(id) {
            list.extend(items);
        }
        Ok(())
    }

    fn set_item(&mut self) -> Result<(), TorchError> {
        let (value, key) = (self.pop()?, self.pop()?);
        self.set_items(&[key, value])
    }

    fn set_items(&mut self, items: &[Id]) -> Result<(), TorchError> {
        let id = self.top()?;
        if let Some(Value::Dict(dict)) = self.heap.values.get_mut(id) {
            dict.extend(pairs(items));
        }
        Ok(())
    }

    fn memorise(&mut self, slot: u64) -> Result<(), TorchError> {
        let top = self.top()?;
        self.memo.insert(slot, top);
        Ok(())
    }

    fn recall(&mut self, slot: u64) -> Result<(), TorchError> {
        let id = *self.memo.get(&slot).ok_or_else(|| self.malformed("a value is used before it is made"))?;
        self.stack.push(id);
        Ok(())
    }

    fn integer<const N: usize>(&mut self, read: impl Fn([u8; N]) -> i64) -> Result<(), TorchError> {
        let value = read(self.array()?);
        self.push(Value::Int(value))
    }

    fn long(&mut self, length: usize) -> Result<(), TorchError> {
        let bytes = self.take(length)?;
        if length > 8 {
            return self.object("int");
        }
        // Two's complement: the last bit is extended to the left.
        let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut whole = [fill; 8];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.push(Value::Int(i64::from_le_bytes(whole)))
    }

    fn text(&mut self, length: usize) -> Result<(), TorchError> {
        let text = String::from_utf8_lossy(self.take(length)?).into();
        self.push(Value::Text(text))
    }

    fn bytes(&mut self, length: usize) -> Result<(), TorchError> {
        self.take(length)?;
        self.object("bytes")
    }

    fn object(&mut self, class: &str) -> Result<(), TorchError> {
        self.push(Value::Object(class.into()))
    }

    fn push(&mut self, value: Value) -> Result<(), TorchError> {
        self.stack.push(self.heap.values.len());
        self.heap.values.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Id, TorchError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.pop() {
            Some(id) if self.stack.len() >= floor => Ok(id),
            _ => Err(self.malformed("it takes more values than there are")),
        }
    }

    fn top(&self) -> Result<Id, TorchError> {
        self.stack.last().copied().ok_or_else(|| self.malformed("it takes more values than there are"))
    }

    /// Begins a group of values, which `after_mark` takes.
    fn mark(&mut self) -> Result<(), TorchError> {
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn after_mark(&mut self) -> Result<Vec<Id>, TorchError> {
        match self.marks.pop() {
            Some(mark) if mark <= self.stack.len() => Ok(self.stack.split_off(mark)),
            _ => Err(self.malformed("a group that was not begun")),
        }
    }

    fn byte(&mut self) -> Result<u8, TorchError> {
        self.array().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TorchError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// A length or a number of a slot, in `N` bytes.
    fn length<const N: usize>(&mut self) -> Result<usize, TorchError> {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(self.take(N)?);
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| self.truncated())
    }

    fn line(&mut self) -> Result<Cow<'a, str>, TorchError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| self.truncated())?;
        self.at += length + 1;
        Ok(String::from_utf8_lossy(&rest[..length]))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], TorchError> {
        let end = self.at.checked_add(count).ok_or_else(|| self.truncated())?;
        let bytes = self.input.get(self.at..end).ok_or_else(|| self.truncated())?;
        self.at = end;
        Ok(bytes)
    }

    fn truncated(&self) -> TorchError {
        TorchError::Truncated { what: format!("the pickle, at byte {}", self.at) }
    }

    fn malformed(&self, reason: &str) -> TorchError {
        TorchError::Malformed { at: self.at, reason: reason.into() }
    }
}

fn pairs(items: &[Id]) -> Vec<(Id, Id)> {
    items.as_chunks().0.iter().map(|&[key, value]| (key, value)).collect()
}
