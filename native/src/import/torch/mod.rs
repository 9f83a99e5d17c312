//! Files of `torch.save`: the tensors of a state dict at any place in the file. Nothing in a file is executed.

mod heap;
mod pickle;
mod storage;

use std::collections::HashSet;

use simile_core::nn::checkpoint::{CheckpointError, Weights};

use self::heap::{Heap, Id, Value};
use self::storage::{Container, Content};

/// Largest nesting of dictionaries: a checkpoint has two or three levels.
const DEEPEST: usize = 8;
/// Tensors of a file at most. The largest networks have some ten thousand.
const MOST_TENSORS: usize = 200_000;
/// Bytes of a tensor's name at most, with those of the dictionaries around it.
const LONGEST_NAME: usize = 1000;

/// The reason why tensors cannot be read from a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TorchError {
    #[error("it is neither a file of torch.save nor of safetensors; was the download complete?")]
    Unknown,
    #[error("it is a damaged archive: {reason}; was the download complete?")]
    Zip { reason: String },
    #[error(
        "it is a TorchScript archive, a program; in Python, \
         `torch.save(torch.jit.load(PATH).state_dict(), \"weights.pth\")` keeps its weights"
    )]
    Script,
    #[error("it ends within {what}; was the download complete?")]
    Truncated { what: String },
    #[error(
        "its pickle is of protocol 0 or 1, which are not read; `torch.save` without `pickle_protocol` writes another one"
    )]
    Protocol,
    #[error("instruction 0x{code:02x} at byte {at} of its pickle is none that torch.save writes")]
    Instruction { code: u8, at: usize },
    #[error("its pickle is malformed at byte {at}: {reason}")]
    Malformed { at: usize, reason: String },
    #[error("tensor `{name}` {reason}")]
    Tensor { name: String, reason: String },
    #[error(
        "it holds {found} and no tensors by name; in Python, `torch.save(model.state_dict(), \"weights.pth\")` makes a \
         file of them"
    )]
    NoTensors { found: String },
    #[error("the names of its tensors are {reason}; is it a state dict?")]
    Names { reason: &'static str },
    #[error(transparent)]
    Weights(#[from] CheckpointError),
}

/// All tensors of a file, each by the path that leads to it: `state_dict.module.conv1.weight`.
///
/// # Errors
/// The file is not one of `torch.save`, is damaged, or holds no named tensors.
pub(crate) fn read(bytes: &[u8]) -> Result<Weights, TorchError> {
    let (mut container, heap, root) = Container::open(bytes)?;
    let mut tensors = vec![];
    collect(&heap, root, "", DEEPEST, &mut HashSet::new(), &mut tensors)?;
    if tensors.is_empty() {
        let kind = match heap.get(root) {
            Value::Object(class) | Value::Class(class) => format!("an object of {class}"),
            Value::Tensor(_) | Value::Unread(_) => "one tensor".into(),
            Value::Dict(_) => "a dictionary".into(),
            _ => "a value".into(),
        };
        return Err(TorchError::NoTensors { found: kind });
    }
    let mut weights = Weights::default();
    for (name, tensor) in tensors {
        match tensor {
            Value::Tensor(view) => match container.content(&name, view)? {
                Content::Floats(values) => weights.insert(&name, view.shape.clone(), values)?,
                Content::Other(what) => weights.insert_other(&name, what),
            },
            Value::Unread(class) => weights.insert_other(&name, &format!("an object of {class}")),
            _ => {}
        }
    }
    Ok(weights)
}

/// The tensors of a dictionary and of those within it, each dictionary once.
fn collect<'h>(
    heap: &'h Heap,
    dict: Id,
    path: &str,
    depth: usize,
    visited: &mut HashSet<Id>,
    tensors: &mut Vec<(String, &'h Value)>,
) -> Result<(), TorchError> {
    let Value::Dict(entries) = heap.get(dict) else { return Ok(()) };
    if depth == 0 || !visited.insert(dict) {
        return Ok(());
    }
    for &(key, id) in entries {
        let (Value::Text(key), value @ (Value::Tensor(_) | Value::Unread(_) | Value::Dict(_))) =
            (heap.get(key), heap.get(id))
        else {
            continue;
        };
        if path.len() + key.len() > LONGEST_NAME {
            return Err(TorchError::Names { reason: "longer than a thousand bytes" });
        }
        match value {
            Value::Dict(_) => collect(heap, id, &format!("{path}{key}."), depth - 1, visited, tensors)?,
            _ if tensors.len() == MOST_TENSORS => {
                return Err(TorchError::Names { reason: "more than two hundred thousand" });
            }
            tensor => tensors.push((format!("{path}{key}"), tensor)),
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod hostile;
#[cfg(test)]
mod tests;
