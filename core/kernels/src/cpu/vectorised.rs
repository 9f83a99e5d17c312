//! Loops on the vector instructions of the processor that runs them.

/// Evaluates an expression with the widest vector instructions that the processor has.
///
/// A macro, since what it evaluates has those instructions only where it is compiled into the function that asks for them:
/// the compiler leaves a long closure out of it, and with it the instructions, unless each closure says otherwise.
macro_rules! vectorised {
    ($work:expr) => {
        ::pulp::Arch::new().dispatch(
            #[inline(always)]
            || $work,
        )
    };
}
