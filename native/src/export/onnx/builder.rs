//! A graph as it is written, node by node.

use simile_core::nn::checkpoint::HostTensor;

use super::proto::{Attribute, Dimension, Element, Graph, Node, Shape, Tensor, TensorType, Type, Value};

/// The value of an attribute.
#[derive(Debug, Clone)]
pub(super) enum Setting {
    Integer(i64),
    Integers(Vec<i64>),
    Float(f32),
    Text(&'static str),
}

impl Setting {
    fn named(self, name: &str) -> Attribute {
        let attribute = Attribute { name: name.into(), ..Attribute::default() };
        // `kind` is a number of AttributeProto.AttributeType.
        match self {
            Self::Float(value) => Attribute { float: Some(value), kind: 1, ..attribute },
            Self::Integer(value) => Attribute { integer: Some(value), kind: 2, ..attribute },
            Self::Text(value) => Attribute { text: Some(value.into()), kind: 3, ..attribute },
            Self::Integers(values) => Attribute { integers: values, kind: 7, ..attribute },
        }
    }
}

/// A graph whose nodes are added in the order in which they compute.
#[derive(Debug, Default)]
pub(super) struct Builder {
    graph: Graph,
}

impl Builder {
    /// Adds an operator with one output, and returns the name of that output.
    pub(super) fn node<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&str],
        settings: [(&str, Setting); N],
    ) -> String {
        let name = format!("{}_{}", operator.to_lowercase(), self.graph.node.len());
        self.graph.node.push(Node {
            input: inputs.iter().map(|input| (*input).into()).collect(),
            output: vec![name.clone()],
            name: name.clone(),
            op_type: operator.into(),
            attribute: settings.into_iter().map(|(key, setting)| setting.named(key)).collect(),
        });
        name
    }

    /// Adds an operator without attributes.
    pub(super) fn plain(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.node(operator, inputs, [])
    }

    /// Adds a tensor of the network, and returns its name.
    pub(super) fn tensor(&mut self, name: &str, tensor: &HostTensor) -> String {
        self.constant(name, &tensor.shape, Element::Float, tensor.to_le_bytes())
    }

    /// Adds a few numbers, and returns their name.
    pub(super) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        self.tensor(name, &HostTensor { shape: shape.to_vec(), values: values.to_vec() })
    }

    /// Adds a list of integers, and returns its name.
    pub(super) fn integers(&mut self, values: &[i64]) -> String {
        let name = format!("integers_{}", self.graph.initializer.len());
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(&name, &[values.len()], Element::Integer, bytes)
    }

    /// Adds a number, and returns its name.
    pub(super) fn number(&mut self, value: f64) -> String {
        let name = format!("number_{}", self.graph.initializer.len());
        self.floats(&name, &[], &[value as f32])
    }

    fn constant(&mut self, name: &str, shape: &[usize], element: Element, raw_data: Vec<u8>) -> String {
        let dims = shape.iter().map(|&side| side as i64).collect();
        self.graph.initializer.push(Tensor { dims, data_type: element as i32, name: name.into(), raw_data });
        name.into()
    }

    /// The graph from its input to the node `last`, which takes the name of the output.
    pub(super) fn finish(mut self, name: &str, input: Value, last: &str, output: Value) -> Graph {
        let outputs = self.graph.node.iter_mut().flat_map(|node| node.output.iter_mut());
        outputs.filter(|of| *of == last).for_each(|of| of.clone_from(&output.name));
        Graph { name: name.into(), input: vec![input], output: vec![output], ..self.graph }
    }
}

/// A side of an array: a number, or a name where it may be any.
pub(super) enum Side {
    Of(usize),
    Any(&'static str),
}

/// An input or an output.
pub(super) fn value<const N: usize>(name: &str, about: &str, element: Element, sides: [Side; N]) -> Value {
    let dimension = |side| match side {
        Side::Of(value) => Dimension { value: Some(value as i64), parameter: None },
        Side::Any(name) => Dimension { value: None, parameter: Some(name.into()) },
    };
    let shape = Shape { dim: sides.into_iter().map(dimension).collect() };
    let tensor = TensorType { element: element as i32, shape: Some(shape) };
    Value { name: name.into(), of: Some(Type { tensor: Some(tensor) }), doc_string: about.into() }
}
