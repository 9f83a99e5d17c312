//! Loops on the vector instructions of the processor that runs them.

use pulp::{Arch, NullaryFnOnce};

/// Evaluates an expression with the widest vector instructions that the processor has.
///
/// The expression has those instructions only where it is compiled into the function that asks for them. The compiler
/// leaves a closure of more than a few lines out of it unless told otherwise, which is why this is a macro.
macro_rules! vectorised {
    ($work:expr) => {
        $crate::cpu::vectorised::run(
            #[inline(always)]
            || $work,
        )
    };
}

/// Called by the macro above alone.
#[inline(always)]
pub(crate) fn run<T>(work: impl FnMut() -> T) -> T {
    Arch::new().dispatch(Work(work))
}

/// A closure that is called by reference: a call by value goes through a compiler-generated function, which is never
/// inlined.
struct Work<F>(F);

impl<T, F: FnMut() -> T> NullaryFnOnce for Work<F> {
    type Output = T;

    #[inline(always)]
    fn call(mut self) -> T {
        (self.0)()
    }
}
