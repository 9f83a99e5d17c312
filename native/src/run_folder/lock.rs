//! One process at a time works on a run.
//!
//! It holds the system's lock on `state/lock`, which the system releases when the process ends in any way. Many network
//! file systems lock among the processes of one machine only. Therefore the process also names itself in
//! `state/holder.json`, which one process alone can make, and writes that file again at every beat. Processes of other
//! machines go by the age of the last beat, by the clock of the file system.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use std::{env, fmt, process};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::console::line;
use crate::run_folder::atomic_file::temporary_in;

/// The file with the system's lock, which is never removed.
pub(super) const LOCK: &str = "lock";
/// The file that names the process.
pub(super) const HOLDER: &str = "holder.json";
/// Time between two beats.
const BEAT: Duration = Duration::from_secs(10);
/// After so long without a beat, a process of another machine counts as ended.
const SILENT: Duration = Duration::from_secs(60);

/// Another process works on the run, or did without saying that it ended.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InUse(String);

/// The lock of a run folder for this process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
    holder: PathBuf,
    beats: Option<Beats>,
}

/// The thread that writes the beats; it ends when the sender is dropped.
#[derive(Debug)]
struct Beats {
    ends: Sender<()>,
    thread: JoinHandle<()>,
    lost: Arc<AtomicBool>,
}

impl Lock {
    /// Takes the lock in the folder `state` of the run `run`.
    ///
    /// # Errors
    /// [`InUse`] if another process works on the run, or one of another machine did and has been silent since; the
    /// message names it, and the file to remove in the second case. A failure if the folder cannot be written to.
    pub(crate) fn take(state: &Path, run: &Path) -> Result<Self> {
        let (path, holder) = (state.join(LOCK), state.join(HOLDER));
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
        let is_locked = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                let other = Heartbeat::read(state).map(|heartbeat| heartbeat.holder);
                return Err(InUse(in_use(other.as_ref(), run)).into());
            }
            Err(TryLockError::Error(error)) => {
                line(format_args!(
                    "{} cannot be locked ({error}); only a heartbeat shows that the run is in use",
                    path.display()
                ));
                false
            }
        };
        let me = Holder::this();
        if let Some(heartbeat) = Heartbeat::read(state) {
            if !(is_locked && is_damaged(&holder)) {
                heartbeat.refuse(&me, is_locked, &holder, run)?;
            }
            // Of several processes that remove it, one makes the next.
            let _ = fs::remove_file(&holder);
        }
        let making = || format!("cannot write {}", holder.display());
        let text = serde_json::to_vec(&me)?;
        let new_file = || -> io::Result<File> {
            let mut file = temporary_in(state)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist_noclobber(&holder).map_err(|error| error.error)
        };
        let named = match new_file() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let other = Heartbeat::read(state).map(|heartbeat| heartbeat.holder);
                return Err(InUse(in_use(other.as_ref(), run)).into());
            }
            named => named.with_context(making)?,
        };
        let beats = Beats::begin(named, me, holder.clone()).with_context(making)?;
        Ok(Self { _file: file, holder, beats: Some(beats) })
    }

    /// Checks that the lock is still this process's.
    ///
    /// # Errors
    /// Its file was removed or is another process's.
    pub(super) fn check(&self) -> Result<()> {
        if self.beats.as_ref().is_some_and(|beats| beats.lost.load(Ordering::SeqCst)) {
            anyhow::bail!(
                "{} was removed or taken by another process; this one writes nothing more there",
                self.holder.display()
            );
        }
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let Some(Beats { ends, thread, lost }) = self.beats.take() else { return };
        drop(ends);
        let _ = thread.join();
        if !lost.load(Ordering::SeqCst) {
            // One that remains is of a process of this machine, whose lock the system releases.
            let _ = fs::remove_file(&self.holder);
        }
    }
}

impl Beats {
    fn begin(mut file: File, me: Holder, holder: PathBuf) -> io::Result<Self> {
        let (ends, ended) = channel::<()>();
        let lost = Arc::new(AtomicBool::new(false));
        let mark = Arc::clone(&lost);
        let beat = move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                if Holder::read(&holder).as_ref() != Some(&me) {
                    line(format_args!("{} no longer belongs to this process", holder.display()));
                    mark.store(true, Ordering::SeqCst);
                    return;
                }
                // A beat that fails is made up for by the next one.
                let text = serde_json::to_vec(&me).unwrap_or_default();
                let _ = file.rewind().and_then(|()| file.write_all(&text)).and_then(|()| file.sync_data());
            }
        };
        let thread = thread::Builder::new().name("lock".into()).spawn(beat)?;
        Ok(Self { ends, thread, lost })
    }
}

/// A process that works on a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    host: String,
    process: u32,
    /// The running system, which containers share and a restart changes.
    #[serde(default)]
    system: String,
    /// The job of Slurm, which stays the same when it is put back into the queue.
    #[serde(default)]
    job: Option<String>,
}

impl Holder {
    fn this() -> Self {
        let system = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let job = env::var("SLURM_JOB_ID").ok();
        Self { host: host(), process: process::id(), system: system.trim().to_owned(), job }
    }

    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// True if the system's lock reaches both processes.
    fn shares_machine_with(&self, other: &Self) -> bool {
        self.host == other.host || (!self.system.is_empty() && self.system == other.system)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.host)
    }
}

/// The file of a holder, and the age of its last beat.
struct Heartbeat {
    holder: Holder,
    age: Duration,
}

impl Heartbeat {
    fn read(state: &Path) -> Option<Self> {
        let path = state.join(HOLDER);
        // Opened, because a network file system then asks for the present time of the file.
        let beat =
            File::open(&path).and_then(|file| file.metadata()).and_then(|file| file.modified()).ok()?;
        let holder = Holder::read(&path).unwrap_or_else(|| Holder {
            host: "an unknown host".into(),
            process: 0,
            system: String::new(),
            job: None,
        });
        let age = now(state).duration_since(beat).unwrap_or_default();
        Some(Self { holder, age })
    }

    /// Refuses to take over from a process that may still work.
    fn refuse(&self, me: &Holder, is_locked: bool, path: &Path, run: &Path) -> Result<()> {
        let Self { holder, age } = self;
        let is_here = holder.shares_machine_with(me);
        if is_here && is_locked {
            return Ok(());
        }
        if *age < SILENT {
            return Err(InUse(in_use(Some(holder), run)).into());
        }
        let is_same_job = holder.job.is_some() && holder.job == me.job;
        if is_here || is_same_job {
            line(format_args!("{holder} ended without releasing the run; it continues here"));
            return Ok(());
        }
        let message = format!(
            "{holder} worked on the run in {} and has given no sign for {} s; if it has ended, remove {} and give the \
             same command again",
            run.display(),
            age.as_secs(),
            path.display()
        );
        Err(InUse(message).into())
    }
}

/// True if the file of a holder can be read and names none: its machine failed before the file was on the disk.
fn is_damaged(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| serde_json::from_slice::<Holder>(&text).is_err())
}

/// The process that works on the run with a folder `state`, as far as its beat tells; none if its last beat is long past.
pub(super) fn holder(state: &Path) -> Option<Holder> {
    let heartbeat = Heartbeat::read(state)?;
    (heartbeat.age < SILENT).then_some(heartbeat.holder)
}

fn in_use(holder: Option<&Holder>, run: &Path) -> String {
    let holder = holder.map_or_else(|| "another process".into(), ToString::to_string);
    format!("{holder} works on the run in {}; wait until it has ended, or end it", run.display())
}

/// The time by the clock that gives files of a folder their times.
fn now(folder: &Path) -> SystemTime {
    let by_file = || -> io::Result<SystemTime> {
        let mut file: NamedTempFile = temporary_in(folder)?;
        file.write_all(b"now")?;
        file.as_file().metadata()?.modified()
    };
    by_file().unwrap_or_else(|_| SystemTime::now())
}

fn host() -> String {
    let named = ["HOSTNAME", "COMPUTERNAME"].into_iter().find_map(|name| env::var(name).ok());
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or(named);
    name.map_or_else(|| "an unknown host".into(), |name| name.trim().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refusal(place: &Path) -> String {
        let error = Lock::take(place, place).unwrap_err();
        assert!(error.is::<InUse>(), "{error}");
        error.to_string()
    }

    /// Leaves the file of a process whose last beat was `seconds` seconds ago.
    fn leave(place: &Path, holder: &Holder, seconds: u64) {
        let file = File::create(place.join(HOLDER)).unwrap();
        (&file).write_all(&serde_json::to_vec(holder).unwrap()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    fn elsewhere() -> Holder {
        Holder { host: "node-7".into(), process: 12, system: "another".into(), job: Some("33".into()) }
    }

    #[test]
    fn a_second_one_is_told_who_holds_it_until_the_first_ends() {
        let place = tempfile::tempdir().unwrap();
        let first = Lock::take(place.path(), place.path()).unwrap();
        let error = refusal(place.path());
        assert!(error.contains(&format!("process {} on ", process::id())), "{error}");
        first.check().unwrap();
        drop(first);
        assert!(!place.path().join(HOLDER).exists());
        Lock::take(place.path(), place.path()).unwrap();
    }

    #[test]
    fn a_process_of_another_machine_goes_by_its_beat() {
        let place = tempfile::tempdir().unwrap();
        // The system's lock is free, as it is where it reaches one machine only.
        leave(place.path(), &elsewhere(), 20);
        let error = refusal(place.path());
        assert!(error.contains("process 12 on node-7 works on") && !error.contains("remove"), "{error}");
        leave(place.path(), &elsewhere(), 600);
        let error = refusal(place.path());
        let file = place.path().join(HOLDER);
        assert!(
            error.contains("has given no sign for") && error.contains(&format!("remove {}", file.display())),
            "{error}"
        );
        fs::remove_file(file).unwrap();
        Lock::take(place.path(), place.path()).unwrap();
    }

    #[test]
    fn a_process_of_this_machine_and_a_requeued_job_leave_nothing_to_remove() {
        let place = tempfile::tempdir().unwrap();
        let killed = Holder { process: 1, ..Holder::this() };
        leave(place.path(), &killed, 1);
        drop(Lock::take(place.path(), place.path()).unwrap());
        // A container has a name of its own, a restarted system another identity.
        for killed in [
            Holder { host: "container".into(), ..Holder::this() },
            Holder { system: "before".into(), ..Holder::this() },
        ] {
            leave(place.path(), &killed, 1);
            drop(Lock::take(place.path(), place.path()).unwrap());
        }
        let (me, heartbeat) = (Holder { job: Some("33".into()), ..Holder::this() }, |age| Heartbeat {
            holder: elsewhere(),
            age,
        });
        let refused = |me: &Holder, age| heartbeat(age).refuse(me, true, place.path(), place.path()).is_err();
        assert!(refused(&me, SILENT / 2) && !refused(&me, SILENT * 2));
        assert!(refused(&Holder { job: Some("34".into()), ..me }, SILENT * 2));
        // Without a lock of the system the beat of a process of this machine counts too.
        let here = |age| {
            Heartbeat { holder: killed.clone(), age }.refuse(
                &Holder::this(),
                false,
                place.path(),
                place.path(),
            )
        };
        assert!(here(SILENT / 2).is_err() && here(SILENT * 2).is_ok());
    }

    /// It blocked the run for a minute, and had then to be removed.
    #[test]
    fn a_damaged_file_is_of_nobody() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(HOLDER), [0; 60]).unwrap();
        let lock = Lock::take(place.path(), place.path()).unwrap();
        lock.check().unwrap();
        fs::write(place.path().join(HOLDER), "").unwrap();
        refusal(place.path());
    }

    #[test]
    fn one_of_many_gets_it() {
        let place = tempfile::tempdir().unwrap();
        let locks: Vec<Option<Lock>> = thread::scope(|scope| {
            let take = || Lock::take(place.path(), place.path()).ok();
            let begun: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
            begun.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(locks.iter().flatten().count(), 1);
    }
}
