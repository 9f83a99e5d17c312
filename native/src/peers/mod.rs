//! The processes that a launcher started for one run: `mpirun -n 8 simile train RECIPE`, or `srun`. They share every step; the one
//! of rank 0 leads: it alone evaluates, writes and prints.

mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod process_group;

use anyhow::Result;

pub(crate) use launch::{SEPARATE, is_from_launcher};
#[cfg(test)]
pub(crate) use process_group::testing;
pub(crate) use process_group::{Decision, Message, ProcessGroup, Status};

use crate::exit::{self, usage};
use launch::Launch;

/// The group of this process, for as long as it runs.
pub(crate) struct Launched {
    pub(crate) processes: ProcessGroup,
    #[cfg(feature = "mpi")]
    running: Option<mpi::Running>,
}

/// The group with which a launcher started this process; a group of one without a launcher.
///
/// # Errors
/// A usage error if several processes were started, and this program, or the launcher, is without MPI.
pub(crate) fn launched() -> Result<Launched> {
    match Launch::of(|name| std::env::var(name).ok()) {
        None => Ok(Launched {
            processes: ProcessGroup::alone(),
            #[cfg(feature = "mpi")]
            running: None,
        }),
        Some(launch) => start(&launch),
    }
}

/// Refuses to run as one of several processes that a launcher started, for commands in which each would do all of the work. `share`
/// says how they can share it.
///
/// # Errors
/// A usage error if several processes were started.
pub(crate) fn refuse_several(work: &str, share: Option<&str>) -> Result<()> {
    match Launch::of(|name| std::env::var(name).ok()) {
        None => Ok(()),
        Some(Launch { count, by }) => {
            let share = share.map(|share| format!(", {share}")).unwrap_or_default();
            Err(usage(format_args!(
                "{by} started {count} processes, each of which would {work}: start one{share}, or set {SEPARATE}=1 if these are \
                 separate"
            )))
        }
    }
}

#[cfg(feature = "mpi")]
fn start(launch: &Launch) -> Result<Launched> {
    let (running, processes) = mpi::Running::begin()?;
    if processes.count() != launch.count {
        let Launch { count, by } = launch;
        let world_size = processes.count();
        drop(running);
        return Err(usage(format_args!(
            "{by} started {count} processes, and MPI finds {world_size} of them; start them with the launcher of the MPI \
             library that this program was built with, or with `srun --mpi=pmix`"
        )));
    }
    Ok(Launched { processes, running: Some(running) })
}

#[cfg(not(feature = "mpi"))]
fn start(launch: &Launch) -> Result<Launched> {
    let Launch { count, by } = launch;
    Err(usage(format_args!(
        "{by} started {count} processes, each of which would train the whole recipe: this program was built without MPI. In the \
         folder of the repository, install it with `cargo install --path native --features mpi`; or start one process, or set \
         {SEPARATE}=1 if these are separate runs"
    )))
}

impl Launched {
    /// Ends the group with the outcome of this process, which the leader tells the others.
    ///
    /// # Errors
    /// The error of the outcome. It is printed before the others end, because a launcher ends all with the first that fails.
    pub(crate) fn end(self, outcome: Result<()>) -> Result<()> {
        let Self { processes, .. } = &self;
        if processes.is_alone() {
            return outcome;
        }
        let code = outcome.as_ref().err().map_or(0, exit::code_of);
        if processes.is_leader() {
            if let Err(error) = &outcome {
                exit::print(error);
            }
            if !processes.has_ended() {
                processes.broadcast(&Message::End { code }, &[])?;
            }
        } else if !processes.has_ended() {
            #[cfg(feature = "mpi")]
            if let Some(running) = &self.running {
                // The others still wait for this process, so they have to be ended.
                running.abort(code.max(1));
            }
        }
        outcome.map_err(|_| exit::Reported(code).into())
    }
}

#[cfg(all(test, not(feature = "mpi")))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A build in the folder of the repository left the installed program as it was.
    #[test]
    fn several_processes_of_a_program_without_mpi_are_told_to_install_one() {
        let error = start(&Launch { count: 4, by: "mpirun" }).err().unwrap();
        assert!(error.is::<exit::Usage>());
        let text = error.to_string();
        assert!(text.contains("mpirun started 4 processes"), "{text}");
        assert!(text.contains("install it with `cargo install --path native --features mpi`"), "{text}");
    }
}
