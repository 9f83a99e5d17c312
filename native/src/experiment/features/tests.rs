//! Probes of features in memory and in a file.

use std::sync::Mutex;
use std::time::Instant;

use simile_core::eval::knn::KnnConfig;
use simile_core::eval::linear_probe::{LinearProbeConfig, Target};
use simile_core::eval::ridge::Ridge;
use simile_core::eval::sgd_probe::SgdProbeConfig;
use simile_core::eval::standardise::Standardise;
use simile_core::eval::unit::Unit;
use simile_core::numeric::matrix::Matrix;

use super::*;

/// Features of `rows` images in `classes` classes. Some directions vary far more than others.
fn made(rows: usize, columns: usize, classes: usize) -> impl Fn(usize) -> Vec<f32> {
    move |row| {
        let class = row * 7 % classes;
        let value = |column: usize| {
            let seed = (row * columns + column) as u64;
            let noise =
                (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9)
                    >> 40) as f32
                    / (1_u32 << 24) as f32
                    - 0.5;
            let centre = ((class * 31 + column * 17) % 23) as f32 / 23.0;
            (noise + 0.1 * centre) * (1.0 + (column % 50) as f32) + rows as f32 * 1e-6
        };
        (0..columns).map(value).collect()
    }
}

/// The same features in memory and in a file.
fn both(rows: usize, columns: usize, classes: usize) -> [Features; 2] {
    let of = made(rows, columns, classes);
    let memory = Collector { rows, columns, storage: Storage::Memory(Vec::new()) };
    [memory, Collector::in_file(rows, columns).unwrap()].map(|mut collector| {
        (0..rows).for_each(|row| collector.push(&of(row)).unwrap());
        collector.finish().unwrap()
    })
}

#[test]
fn a_file_is_probed_as_memory_is() {
    let (rows, classes) = (3000, 5);
    let [held, filed] = both(rows, 40, classes);
    let labels: Vec<usize> = (0..rows).map(|row| row * 7 % classes).collect();
    let values = Matrix::from_fn(rows, 2, |i, k| ((i * (k + 3)) as f64 * 0.01).sin());
    let config = LinearProbeConfig { regularisation: 1e-3, ..LinearProbeConfig::default() };
    let near = KnnConfig { k: 20, temperature: 0.1 };
    let descent = SgdProbeConfig { epochs: 2, ..SgdProbeConfig::default() };
    let probed = |features: &Features| {
        let rows = Standardise::fit(features).unwrap().of(features).unwrap();
        let target = Target::Classes { labels: &labels, classes };
        let unit = Unit(features);
        (
            config.fit(&rows, target).unwrap(),
            Ridge::fit(&rows, &values, 1e-3).unwrap(),
            near.vote(&unit, &labels, classes, &unit).unwrap(),
            descent.fit(&rows, &labels, classes).unwrap(),
        )
    };
    assert!(matches!(filed, Features::Filed(_)));
    assert_eq!(probed(&held), probed(&filed));
}

#[test]
fn features_that_are_missing_are_said() {
    let mut collector = Collector::in_file(3, 2).unwrap();
    collector.push(&[0.0; 4]).unwrap();
    assert!(collector.finish().unwrap_err().to_string().contains("4 features of 3x2"));
}

/// The request in `SIMILE_PROBE`: rows, columns and classes of made features, the decrease at which a fit ends, and whether the
/// features are `held` in memory or `filed`. By default as many images as ImageNet has, by a ResNet-50.
struct Request {
    rows: usize,
    columns: usize,
    classes: usize,
    decrease: f64,
    is_held: bool,
}

impl Request {
    fn read() -> Self {
        let asked = std::env::var("SIMILE_PROBE").unwrap_or_else(|_| "1281167,2048,1000,1e-3,filed".into());
        let parts: Vec<&str> = asked.split(',').collect();
        let [rows, columns, classes] = [0, 1, 2].map(|at: usize| parts[at].parse().unwrap());
        Self { rows, columns, classes, decrease: parts[3].parse().unwrap(), is_held: parts[4] == "held" }
    }

    fn labels(&self) -> Vec<usize> {
        (0..self.rows).map(|row| row * 7 % self.classes).collect()
    }

    fn features(&self) -> Features {
        let Self { rows, columns, .. } = *self;
        let mut collector = if self.is_held {
            Collector { rows, columns, storage: Storage::Memory(Vec::with_capacity(rows * columns)) }
        } else {
            Collector::in_file(rows, columns).unwrap()
        };
        let of = made(rows, columns, self.classes);
        let begun = Instant::now();
        (0..rows).for_each(|row| collector.push(&of(row)).unwrap());
        let features = collector.finish().unwrap();
        say("features made", begun);
        features
    }
}

/// Seconds of the parts of a linear probe, and the largest memory.
#[test]
#[ignore = "minutes, and gigabytes of memory or disk; see CONTRIBUTING.md"]
fn a_probe_of_millions() {
    let request = Request::read();
    let classes = request.classes;
    let features = request.features();
    let begun = Instant::now();
    let seen = Standardise::fit(&features).unwrap().of(&features).unwrap();
    say("mean and deviation, two passes", begun);
    let labels = request.labels();
    let target = Target::Classes { labels: &labels, classes };
    let of = |steps: usize| LinearProbeConfig {
        steps,
        decrease_tolerance: request.decrease,
        ..LinearProbeConfig::default()
    };
    let watched = Watched { rows: &seen, first_double: Mutex::new(None) };
    let mut path = of(0).path(&watched, target).unwrap();
    let begun = Instant::now();
    path.fit(1e-6).unwrap();
    say("covariance of a sample, a pass in f32, a pass in f64", begun);
    *watched.first_double.lock().unwrap() = None;
    let begun = Instant::now();
    path.fit(1e-6).unwrap();
    let double = watched.first_double.lock().unwrap().unwrap();
    say("a pass in f32 and one in f64", begun);
    say("of these the one in f64", double);
    let begun = Instant::now();
    let probe = of(500).fit(&seen, target).unwrap();
    say(&format!("{} iterations, J = {:.9}, {:?}", probe.iterations, probe.objective, probe.stop), begun);
}

/// Seconds in which 1000 new images find their neighbours, and the largest memory.
#[test]
#[ignore = "minutes, and gigabytes of memory or disk; see CONTRIBUTING.md"]
fn neighbours_of_millions() {
    let request = Request::read();
    let bank = request.features();
    let of = made(request.rows, request.columns, request.classes);
    let storage = Storage::Memory(Vec::new());
    let mut collector = Collector { rows: 1000, columns: request.columns, storage };
    (request.rows..request.rows + 1000).for_each(|row| collector.push(&of(row)).unwrap());
    let queries = collector.finish().unwrap();
    let (bank, queries) = (Unit(&bank), Unit(&queries));
    let begun = Instant::now();
    let votes = KnnConfig::default().vote(&bank, &request.labels(), request.classes, &queries).unwrap();
    say("neighbours of 1000 images", begun);
    assert!(votes.gap.iter().all(|gap| gap.is_some_and(|gap| gap >= 0.0)));
}

/// Batches of which the time is taken.
const BATCHES: usize = 300;

/// Seconds of a batch of the probe by descent, and the largest memory; the time of an epoch follows from them.
#[test]
#[ignore = "minutes, and gigabytes of memory or disk; see CONTRIBUTING.md"]
fn descent_of_millions() {
    let request = Request::read();
    let features = request.features();
    let begun = Instant::now();
    let seen = Standardise::fit(&features).unwrap().of(&features).unwrap();
    say("mean and deviation, two passes", begun);
    let config = SgdProbeConfig { epochs: 1, ..SgdProbeConfig::default() };
    let stride = (request.rows / (BATCHES * config.batch)).max(1);
    let some = Spread { rows: &seen, stride, first_alone: Mutex::new(None) };
    let labels: Vec<usize> = request.labels().into_iter().step_by(stride).take(some.rows()).collect();
    let begun = Instant::now();
    config.fit(&some, &labels, request.classes).unwrap();
    say("a pass that checks the rows of these batches, and an epoch of them", begun);
    let first = some.first_alone.lock().unwrap().unwrap();
    let batches = some.rows().div_ceil(config.batch);
    let each = first.elapsed().as_secs_f64() / batches as f64;
    let epoch = each * request.rows.div_ceil(config.batch) as f64;
    say(
        &format!("{batches} batches of {}, {each:.4} s each: an epoch would take {epoch:.0} s", config.batch),
        first,
    );
}

/// Every `stride`th row, so that a few batches are spread over all rows. It notes when a row is first read alone, as those of a
/// batch are.
struct Spread<'a, R> {
    rows: &'a R,
    stride: usize,
    first_alone: Mutex<Option<Instant>>,
}

impl<R: Rows> Rows for Spread<'_, R> {
    fn is_single(&self) -> bool {
        self.rows.is_single()
    }

    fn rows(&self) -> usize {
        self.rows.rows() / self.stride
    }

    fn columns(&self) -> usize {
        self.rows.columns()
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> CoreResult<()> {
        let columns = self.columns();
        if out.len() == columns {
            self.first_alone.lock().unwrap().get_or_insert_with(Instant::now);
        }
        (0..out.len() / columns)
            .try_for_each(|row| self.rows.read((first + row) * self.stride, out.part(row * columns, columns)))
    }
}

/// Rows that note when they are first read in `f64`.
struct Watched<'a, R> {
    rows: &'a R,
    first_double: Mutex<Option<Instant>>,
}

impl<R: Rows> Rows for Watched<'_, R> {
    fn is_single(&self) -> bool {
        self.rows.is_single()
    }

    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.rows.columns()
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> CoreResult<()> {
        if matches!(out, Buffer::Double(_)) {
            self.first_double.lock().unwrap().get_or_insert_with(Instant::now);
        }
        self.rows.read(first, out)
    }
}

fn say(name: &str, begun: Instant) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned();
    eprintln!("{name}: {:.1} s; {peak}", begun.elapsed().as_secs_f64());
}
