//! Resumes a run from the state in its folder.

pub(super) mod recipe;
pub(crate) mod same_data;

use std::fs;
use std::path::Path;

use anyhow::Result;

use self::recipe::{PRIOR, Resumed, resumed_recipe};
use self::same_data::{same_data, same_prior};
use crate::config::Recipe;
use crate::config::key_path::key_of;
use crate::console::line;
use crate::devices::{DeviceChoice, DeviceSet};
use crate::exit::usage;
use crate::experiment::evaluate::probe::check_names;
use crate::experiment::outputs::write_result_and_report;
use crate::experiment::preflight::{metric_names, print_unreached_stage_warnings, unreached_stage_warnings};
use crate::experiment::prepare::data_errors::explained;
use crate::experiment::prepare::{prior, weights};
use crate::experiment::run::{CheckMetrics, begin, complete, prepare, read_images};
use crate::experiment::session::Session;
use crate::experiment::train::check_states;
use crate::interrupt;
use crate::peers::ProcessGroup;
use crate::run_folder::folder::{METRICS, RECIPE, REPORT, RESULT, RunFolder, STATE, WEIGHTS, entries};
use crate::run_folder::record::RunResult;
use crate::run_folder::state::{RunState, absolute};
use crate::run_folder::store::RunStore;
use crate::shell::{quoted, resume_command};

/// The changes that are allowed when a run resumes.
#[derive(Clone, Copy)]
pub(crate) struct ResumeOptions<'a> {
    /// The present folder of the data set's files, if it has changed.
    pub(crate) data: Option<&'a Path>,
    pub(crate) devices: &'a [DeviceChoice],
    /// Keys of the recipe: more iterations, and the present place of its prior.
    pub(crate) set: &'a [String],
    /// The processes that share the steps; their number may have changed.
    pub(crate) processes: &'a ProcessGroup,
    /// The check of the metrics that the run will have, for a command that depends on them.
    pub(crate) check: Option<CheckMetrics<'a>>,
}

/// Resumes the run in a folder.
///
/// # Errors
/// A usage error if there is no run, it has finished, or a changed key affects finished work; a failure if a file of
/// the run is missing or damaged, if another process works on it, or if the run fails; before it goes on, as the check of its metrics.
pub(crate) fn resume(run: &Path, options: ResumeOptions<'_>) -> Result<(RunFolder, RunResult)> {
    let folder = RunFolder::open(run)?;
    // The lock would make the folder that was removed.
    if !folder.path(STATE).exists() {
        refuse_to_replace(&folder)?;
    }
    let folder = folder.locked()?;
    let written = recipe_of(&folder)?;
    let Some(mut state) = RunState::read(&folder)? else {
        return from_the_start(folder, written, options);
    };
    // Also of a finished run: its process may have been killed right after it wrote its last state.
    state.files.remove_others(&folder);
    let resumed = resumed_recipe(&folder, &state, &written, options.set)?;
    let Resumed { recipe, is_longer, .. } = &resumed;
    let begun = state.recipe(&folder)?;
    drop_warnings_on_length(&mut state, &begun);
    if *is_longer {
        state.extend(&folder, recipe)?;
    }
    // After that, because a longer run makes models and figures again.
    state.files.verify(&folder)?;
    if !is_longer && state.finished && has_result(&folder) && folder.path(REPORT).is_file() {
        return Err(has_finished(&folder));
    }
    if state.current().is_none() {
        line(format_args!("{}: all variants are done; writing result and report", run.display()));
        return Ok((folder.clone(), write_result_and_report(&folder, recipe, state)?));
    }
    // Older builds began runs that the check refuses.
    check_names(&recipe.probe)
        .map_err(|error| usage(format_args!("{error}; the run was begun with both: begin another run")))?;
    state.data = options.data.map(absolute).or(state.data);
    let devices = same_devices(&state, &options)?;
    let weights = match &recipe.encoder.weights {
        Some(_) => Some(weights::begin(&mut recipe.clone(), &state.files.read(&folder, WEIGHTS)?)?),
        None => None,
    };
    let splits = read_images(recipe, state.data.as_deref(), &devices)
        .map_err(|error| explained(error, stopped(run, state.data.as_deref(), recipe)))?;
    same_data(&folder, &state, &splits, &recipe.data)?;
    if let Some(check) = options.check {
        check(&metric_names(recipe, &splits)?)?;
    }
    state.prior = same_prior(&state, recipe)?;
    interrupt::listen()?;
    let mut session = Session::new(folder.clone(), recipe.clone(), devices, splits, weights, state)?;
    if *is_longer {
        check_states(&session)?;
    }
    write_changes(&mut session, &written, &resumed)?;
    Ok((folder, complete(session)?))
}

/// Removes the warnings on the length of the run, `begun`, from its state, where older builds kept them: the result of a variant gets
/// those of the length at which it ends.
fn drop_warnings_on_length(state: &mut RunState, begun: &Recipe) {
    for variant in begun.variants() {
        let on_length: Vec<String> = unreached_stage_warnings(&variant, begun).collect();
        if let Some(warnings) = state.warnings.get_mut(&variant.name) {
            warnings.retain(|warning| !on_length.contains(warning));
        }
    }
}

/// Writes what changes when a run resumes, once nothing refuses it: `written` is the recipe in its folder.
fn write_changes(session: &mut Session, written: &Recipe, resumed: &Resumed) -> Result<()> {
    let RunStore { folder, state, .. } = &mut session.store;
    let Resumed { recipe, is_longer, is_moved } = resumed;
    if *is_longer {
        line(format_args!(
            "the run continues from {} to {} iterations; from here on it follows the schedule of the longer run",
            state.extended_at.last().copied().unwrap_or_default(),
            recipe.train.iterations
        ));
        print_unreached_stage_warnings(recipe);
        // That of the earlier end would be taken for that of the whole run.
        folder.remove(&[RESULT, REPORT])?;
    }
    if *is_moved {
        state.move_prior(recipe)?;
    }
    // The state is written before the recipe: it alone determines the length of the run.
    if *is_longer || *is_moved {
        state.write(folder)?;
    }
    if *recipe != *written {
        folder.write(RECIPE, recipe.to_toml()?)?;
    }
    // After the state, which no longer names those of a run that was made longer.
    state.drop_models(folder)
}

/// The state of a run whose images cannot be read, and the remedy if their folder, or the model of its prior, is not there.
fn stopped(run: &Path, data: Option<&Path>, recipe: &Recipe) -> String {
    let data_remedy = data.filter(|data| !data.is_dir()).map(|data| {
        let data = data.display();
        format!("; its data were in {data}, which is not there: name their folder with --data DIR")
    });
    let is_absent = recipe.data.prior.as_ref().is_some_and(|section| prior::absent(section).is_some());
    let prior_remedy =
        is_absent.then(|| format!("; name the present place of its prior with --set {PRIOR}=PATH"));
    let remedies = data_remedy.into_iter().chain(prior_remedy).collect::<String>();
    format!("{} cannot continue now; its state is kept{remedies}", run.display())
}

/// Begins the run of a folder with a recipe and no state, whose process ended before the first state.
fn from_the_start(
    folder: RunFolder,
    recipe: Recipe,
    options: ResumeOptions<'_>,
) -> Result<(RunFolder, RunResult)> {
    refuse_to_replace(&folder)?;
    if options.set.iter().any(|setting| key_of(setting) != PRIOR) {
        return Err(usage("the run has not started, so it cannot be made longer; leave --set out"));
    }
    let recipe = recipe.with(options.set)?;
    line(format_args!("{} has no state; its run begins with the first step", folder.root().display()));
    let devices = DeviceSet::open_in(options.processes, options.devices)?;
    let prepared = prepare(recipe.clone(), options.data.map(Path::to_owned), devices)?;
    options.check.map_or(Ok(()), |check| check(&prepared.metrics))?;
    if !options.set.is_empty() {
        folder.write(RECIPE, recipe.to_toml()?)?;
    }
    let session = begin(folder.clone(), prepared)?;
    Ok((folder, complete(session)?))
}

/// Refuses to begin the run of a folder without a state where it would replace what the run has made.
fn refuse_to_replace(folder: &RunFolder) -> Result<()> {
    if has_result(folder) {
        return Err(has_finished_without_state(folder));
    }
    let Some(file_made) = file_made(folder) else { return Ok(()) };
    Err(usage(format_args!(
        "the run in {} has no state to go on from, and to begin it again would replace its {file_made}; put its folder `{STATE}` back from a \
         copy, or begin in another folder",
        folder.root().display()
    )))
}

/// The name of a file with steps or results of the run; a run that ended before its first state has none.
fn file_made(folder: &RunFolder) -> Option<String> {
    let is_model = |name: &str| name.starts_with("model") && name.ends_with(".safetensors");
    let is_made = |name: &String| [RESULT, METRICS].contains(&name.as_str()) || is_model(name);
    let has_content = |name: &String| fs::metadata(folder.path(name)).is_ok_and(|file| file.len() > 0);
    entries(folder.root()).into_iter().filter(is_made).filter(has_content).min()
}

/// True if the result exists and can be read.
pub(super) fn has_result(folder: &RunFolder) -> bool {
    folder.read_json::<RunResult>(RESULT).is_ok()
}

fn has_finished(folder: &RunFolder) -> anyhow::Error {
    usage(format_args!(
        "{}. `{} --set train.iterations=N` trains on, up to N iterations",
        end_of(folder),
        resume_command(folder.root())
    ))
}

/// The refusal of a finished run that lacks what a longer one would begin with.
fn has_finished_without_state(folder: &RunFolder) -> anyhow::Error {
    usage(format_args!("{}. Its folder `state` was removed, so it cannot be made longer", end_of(folder)))
}

/// A finished run, with the place of its report, in words.
fn end_of(folder: &RunFolder) -> String {
    let run = folder.root();
    let report = match folder.path(REPORT).is_file() {
        true => format!("see {}", folder.path(REPORT).display()),
        false => format!("`simile report {}` writes its report", quoted(&run.display().to_string())),
    };
    format!("the run in {} has finished; {report}", run.display())
}

/// The recipe of a run folder.
///
/// # Errors
/// If it is missing or damaged.
pub(crate) fn recipe_of(folder: &RunFolder) -> Result<Recipe> {
    Recipe::resolved(&String::from_utf8_lossy(&folder.read(RECIPE)?), &folder.path(RECIPE))
}

/// The devices on which the run was begun, unless the user names others, which change the results from here on. Several processes
/// open theirs each by itself, so that all of them take what `auto` takes, or what all are told.
///
/// # Errors
/// A usage error if `auto` takes another device in several processes; a failure if a device is not there.
fn same_devices(state: &RunState, options: &ResumeOptions<'_>) -> Result<DeviceSet> {
    let is_auto = options.devices == [DeviceChoice::AUTO];
    if is_auto && options.processes.is_alone() {
        return DeviceSet::reopen(&state.device, options.processes);
    }
    let devices = DeviceSet::open_in(options.processes, options.devices)?;
    if devices.to_string() != state.device {
        if is_auto {
            return Err(usage(format_args!(
                "the run started on {}, and these processes would continue on {devices}; name the device for all of them with `{}`, \
                 or another one",
                state.device,
                DeviceSet::option(&state.device)
            )));
        }
        line(format_args!(
            "the run started on {} and continues on {devices}; its numbers will differ",
            state.device
        ));
    }
    Ok(devices)
}

#[cfg(all(test, feature = "flex"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::Changes;
    use crate::config::testing::drawn;
    use crate::devices::DeviceName;
    use crate::exit::{Usage, message_with_causes};
    use crate::experiment::testing::session;
    use crate::peers::Status;
    use crate::peers::testing::Others;
    use crate::run_folder::finished::FinishedRun;
    use crate::run_folder::testing::{run, variant};

    #[test]
    fn a_finished_run_without_its_state_is_not_advised_to_train_on() {
        let place = tempfile::tempdir().unwrap();
        let FinishedRun { recipe, result, .. } = run("a", 0, "", vec![variant("x", 0.5)]);
        std::fs::write(place.path().join(RECIPE), recipe).unwrap();
        RunFolder::open(place.path()).unwrap().write_result(&result).unwrap();
        for set in [Vec::new(), vec!["train.iterations=9".to_owned()]] {
            let processes = ProcessGroup::alone();
            let devices = [DeviceChoice::AUTO];
            let options = ResumeOptions {
                data: None,
                devices: &devices,
                set: &set,
                processes: &processes,
                check: None,
            };
            let error = resume(place.path(), options).err().unwrap();
            assert!(error.is::<Usage>() && error.to_string().contains("cannot be made longer"), "{error}");
            assert!(!error.to_string().contains("--set") && !place.path().join(STATE).exists(), "{error}");
        }
    }

    /// It was begun again, over the variants that were done.
    #[test]
    fn a_run_without_its_state_keeps_what_it_has_made() {
        let place = tempfile::tempdir().unwrap();
        let FinishedRun { recipe, .. } = run("a", 0, "", vec![variant("x", 0.5)]);
        std::fs::write(place.path().join(RECIPE), recipe).unwrap();
        std::fs::write(place.path().join("notes.txt"), "mine").unwrap();
        let folder = RunFolder::open(place.path()).unwrap();
        assert!(refuse_to_replace(&folder).is_ok(), "its process ended before the first state");
        let (processes, devices) = (ProcessGroup::alone(), [DeviceChoice::AUTO]);
        let options =
            ResumeOptions { data: None, devices: &devices, set: &[], processes: &processes, check: None };
        for name in [METRICS, RESULT, "model-x.safetensors"] {
            let file = folder.path(name);
            std::fs::write(&file, "{").unwrap();
            let error = resume(place.path(), options).err().unwrap();
            assert!(error.is::<Usage>() && error.to_string().contains(name), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
            assert!(!folder.path(STATE).exists());
            std::fs::remove_file(file).unwrap();
        }
    }

    /// Its result, report and models were removed before the refusal, and the run could not go on.
    #[test]
    fn a_finished_run_whose_trainer_cannot_go_on_keeps_its_result() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        let set = "data.train=64;data.test=32;train.batch=16;train.iterations=1;probe.steps=2";
        let set: Vec<String> = set.split(';').map(str::to_owned).collect();
        let variants = ["SimCLR".to_owned()];
        let changes = Changes { set: &set, variants: &variants, ..Changes::default() };
        let recipe = Recipe::load("fair-digits", &changes).unwrap();
        let devices = [DeviceChoice::from(DeviceName::Cpu)];
        let opened = DeviceSet::open(&devices).unwrap();
        drop(crate::experiment::run::run(recipe, Some(&run), None, opened, &|_| Ok(())).unwrap());

        // As an earlier version wrote it, which took a last batch of one image.
        let folder = RunFolder::open(&run).unwrap();
        let mut state = RunState::read(&folder).unwrap().unwrap();
        let trainer = state.variants[0].trainer.clone().unwrap();
        let mut bytes = state.files.read(&folder, &trainer).unwrap();
        let key = b"steps_per_epoch";
        let at = bytes.windows(key.len()).position(|part| part == key).unwrap();
        let digit = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()).unwrap();
        assert_eq!(*digit, b'4');
        *digit = b'5';
        state.files.keep(&folder, &trainer, &bytes).unwrap();
        state.write(&folder).unwrap();

        let names = [RESULT, REPORT, RECIPE, "model.safetensors", "state/state.json"];
        let files = || names.map(|name| std::fs::read(run.join(name)).unwrap());
        let (before, set) = (files(), ["train.iterations=2".to_owned()]);
        let processes = ProcessGroup::alone();
        let options =
            ResumeOptions { data: None, devices: &devices, set: &set, processes: &processes, check: None };
        let error = message_with_causes(&resume(&run, options).err().unwrap());
        assert!(error.starts_with("`SimCLR` cannot go on, and the run stays as it is"), "{error}");
        assert!(error.contains("`config.steps_per_epoch` in the header is 5, expected 4"), "{error}");
        assert!(files() == before);
    }

    /// It trained to its end, and could not be evaluated then.
    #[test]
    fn a_run_whose_attributes_have_results_of_one_name_does_not_go_on() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        let (devices, processes) = ([DeviceChoice::from(DeviceName::Cpu)], ProcessGroup::alone());
        let recipe = drawn("[objective]\nname = \"nt-xent\"\n");
        let mut prepared = prepare(recipe, None, DeviceSet::open(&devices).unwrap()).unwrap();
        // As an earlier version began it, which did not check the names.
        prepared.recipe.probe.also = vec!["condition_nonlinear".into()];
        drop(begin(RunFolder::create(Some(&run), "x").unwrap(), prepared).unwrap());
        let options =
            ResumeOptions { data: None, devices: &devices, set: &[], processes: &processes, check: None };
        let error = resume(&run, options).err().unwrap();
        let remedy = "the run was begun with both: begin another run";
        assert!(error.is::<Usage>() && error.to_string().ends_with(remedy), "{error}");
        assert!(error.to_string().contains("`condition_nonlinear` would have the same names"), "{error}");
    }

    /// The result had them twice, and of a run that was made longer those of its earlier end too.
    #[test]
    fn a_state_with_warnings_on_the_length_adds_none_to_the_result() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        let sections = "[train]\niterations = 1\n\n[probe]\nsteps = 2\n\n[objective]\nname = \"swav\"\n\n\
            [method]\nname = \"swav\"\nprototypes = 4\nfrozen_steps = 2\n";
        drop(session(&run, sections));
        let warning = |iterations: usize| {
            format!(
                "the prototypes are not trained in its {iterations} iterations, because method.frozen_steps is 2; set it lower"
            )
        };
        let (devices, processes) = ([DeviceChoice::from(DeviceName::Cpu)], ProcessGroup::alone());
        let resumed = |set: &[String]| {
            let folder = RunFolder::open(&run).unwrap();
            let mut state = RunState::read(&folder).unwrap().unwrap();
            let name = state.variants[0].name.clone();
            state.warnings.entry(name).or_default().push(warning(1));
            state.write(&folder).unwrap();
            let options =
                ResumeOptions { data: None, devices: &devices, set, processes: &processes, check: None };
            let mut warnings = resume(&run, options).unwrap().1.variants.remove(0).warnings;
            warnings.retain(|warning| warning.contains("prototypes"));
            warnings
        };
        assert_eq!(resumed(&[]), [warning(1)]);
        assert_eq!(resumed(&["train.iterations=2".to_owned()]), [warning(2)]);
    }

    #[test]
    fn several_processes_go_on_on_a_device_that_all_of_them_know() {
        let recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        let several = ProcessGroup::of(Arc::new(Others(vec![Status::Ready])), 0);
        let opened = |begun_on: &str, choice: DeviceChoice| {
            let state = RunState::at_start(&recipe, begun_on.into(), None).unwrap();
            let options =
                ResumeOptions { data: None, devices: &[choice], set: &[], processes: &several, check: None };
            same_devices(&state, &options).map(|devices| devices.to_string())
        };
        let auto = DeviceSet::open(&[DeviceChoice::AUTO]).unwrap().to_string();
        assert_eq!(opened(&auto, DeviceChoice::AUTO).unwrap(), auto);
        let error = opened("tpu:1 (GPU)", DeviceChoice::AUTO).unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().contains("`--device tpu:1`"), "{error}");
        assert_eq!(opened("tpu:1 (GPU)", DeviceName::Cpu.into()).unwrap(), "cpu (CPU)");
    }
}
