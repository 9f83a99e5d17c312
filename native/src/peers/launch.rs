//! Finds the launcher of this process, from the environment.

/// The variable that is set to 1 to start several processes as separate runs.
pub(crate) const SEPARATE: &str = "SIMILE_SEPARATE";

/// The variables in which launchers state the number of processes. Open MPI's comes first, because its `mpirun` may use `srun` to
/// start one process on each machine. `SLURM_NTASKS` is no use: it is also set in batch scripts, which are one process.
const COUNTS: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "mpirun"),
    ("PMI_SIZE", "mpirun"),
    ("MV2_COMM_WORLD_SIZE", "mpirun"),
    ("SLURM_STEP_NUM_TASKS", "srun"),
];

/// The beginnings of the variables that launchers set for their processes.
const PREFIXES: [&str; 8] = ["OMPI_", "PMIX_", "PMI_", "PMI2_", "PRTE_", "MV2_", "HYDI_", "SLURM_"];

/// True for a variable by which a launcher tells a process its place among others.
pub(crate) fn is_from_launcher(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A launcher that started several processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) count: usize,
    pub(super) by: &'static str,
}

impl Launch {
    /// Finds the launcher from the environment; `None` if this is the only process, or a separate run.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if variable(SEPARATE).is_some_and(|value| value == "1") {
            return None;
        }
        let count = |name| variable(name).and_then(|value| value.trim().parse::<usize>().ok());
        let (count, by) = COUNTS.into_iter().find_map(|(name, by)| Some((count(name)?, by)))?;
        (count > 1).then_some(Self { count, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_processes_of_one_launcher_are_a_launch() {
        let of = |variables: &[(&str, &str)]| {
            let variable = |name: &str| variables.iter().find(|(known, _)| *known == name);
            Launch::of(|name| variable(name).map(|(_, value)| (*value).to_owned()))
        };
        let by = |count, by| Some(Launch { count, by });
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "4")]), by(4, "mpirun"));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "16"), ("SLURM_PROCID", "3")]), by(16, "srun"));
        // `mpirun` within an allocation of Slurm: one task for each of two machines.
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "8"), ("SLURM_STEP_NUM_TASKS", "2")]), by(8, "mpirun"));
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "2")]), None);
        // A task of an array, and a batch script.
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(of(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "4"), (SEPARATE, "1")]), None);
        assert_eq!(of(&[]), None);
        assert!(
            COUNTS.iter().all(|(name, _)| is_from_launcher(name))
                && !is_from_launcher("CUDA_VISIBLE_DEVICES")
        );
    }
}
