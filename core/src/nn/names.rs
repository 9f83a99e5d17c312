//! Tensor names of a module, as in PyTorch's `state_dict`.

/// The path to a tensor while a module is visited: field names joined by dots.
///
/// An enum adds nothing to the name, so that `Encoder::LeNet5` contains `conv1.weight` and not
/// `LeNet5.conv1.weight`.
#[derive(Debug, Default)]
pub(crate) struct TensorPath {
    fields: Vec<String>,
}

impl TensorPath {
    /// Enters a field, given Burn's name of its container.
    pub(crate) fn enter(&mut self, name: &str, container: &str) {
        if !container.starts_with("Enum:") {
            self.fields.push(name.into());
        }
    }

    /// Leaves a field.
    pub(crate) fn exit(&mut self, container: &str) {
        if !container.starts_with("Enum:") {
            self.fields.pop();
        }
    }

    /// The name of the tensor at this point.
    pub(crate) fn name(&self) -> String {
        self.fields.join(".")
    }
}
