//! Folders of pictures: what `init` and `data check` say of them, and the recipe that is drafted for them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use simile_tests::place;

use crate::support::pictures::picture;
use crate::support::program::{complaint, json, simile, stderr, stderr_of, stdout, stdout_of, text_of};
use crate::support::recipes::Edited as _;
use crate::support::run::result;
use crate::support::scans::{CLASSES, Dice, scan, scans};

/// A folder of pictures, two of each of thirty patients.
fn scans_of_patients(place: &Path) {
    scans(place, 60);
    let table = place.join("scans/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    let of_patient = |(at, row): (usize, &str)| {
        let (before, _) = row.rsplit_once(',').unwrap();
        if at == 0 { format!("{row}\n") } else { format!("{before},p{}\n", (at - 1) / 2) }
    };
    fs::write(&table, rows.lines().enumerate().map(of_patient).collect::<String>()).unwrap();
}

/// Pictures of one patient were trained and tested on, without a word.
#[test]
fn a_recipe_that_does_not_name_the_patients_is_noted() {
    let place = place();
    scans_of_patients(place.path());
    let recipe = "[data]\ndataset = \"table\"\ntest = 12\n\n[data.table]\ncsv = \"images.csv\"\n\n[data.table.conditions]\n\
                  hospital = [\"hospital\"]\n\n[encoder]\nname = \"lenet5\"\ninput_size = 32\n\n[train]\nbatch = 16\niterations = 1\n\n\
                  [probe]\ncondition = \"hospital\"\nsteps = 2\n\n[objective]\nname = \"nt-xent\"\n";
    fs::write(place.path().join("mine.toml"), recipe).unwrap();
    let note = "images.csv: `patient` seems to name the patient, or another subject, of each picture";
    let remedy = "write subject = \"patient\" in [data.table]";
    // The note stands before a refusal that comes once the pictures are read, so that nothing is trained.
    let nowhere = "probe.condition=nowhere";
    let train = ["train", "mine.toml", "--data", "scans", "--device", "cpu", "--set", nowhere];
    let said = complaint(place.path(), &train, 2);
    assert!(said.contains(note) && said.contains(remedy), "{said}");
    let check = ["data", "check", "mine.toml", "--data", "scans"];
    assert!(stdout(place.path(), &check).contains(note));
    let with_subject = recipe.edited("csv = \"images.csv\"", "csv = \"images.csv\"\nsubject = \"patient\"");
    fs::write(place.path().join("mine.toml"), with_subject).unwrap();
    let checked = simile(place.path(), &check).assert().success();
    let said = text_of(checked.get_output());
    assert!(!said.contains("seems to name") && said.contains("is sound"), "{said}");
    // The recipe of the folder itself names them, and they are no attribute.
    let checked = simile(place.path(), &["data", "check", "scans"]).assert().success();
    let said = text_of(checked.get_output());
    assert!(!said.contains("seems to name") && !said.contains("patient: "), "{said}");
    assert!(!said.contains("its leak cannot be measured"), "{said}");

    // Where a column says the splits, training pictures may be held out at random all the same.
    let table = place.path().join("scans/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    let with_part = |(at, row): (usize, &str)| match at {
        0 => format!("{row},part\n"),
        1..=44 => format!("{row},train\n"),
        _ => format!("{row},test\n"),
    };
    fs::write(&table, rows.lines().enumerate().map(with_part).collect::<String>()).unwrap();
    let by_part = recipe.edited("csv = \"images.csv\"", "csv = \"images.csv\"\nsplit = \"part\"");
    fs::write(place.path().join("mine.toml"), &by_part).unwrap();
    let said = stdout(place.path(), &check);
    assert!(!said.contains("seems to name"), "{said}");
    let (validation, selection) = ("data.validation=12", "selection={ held_out = 12, every = 1 }");
    for held_out in [validation, selection] {
        let said = complaint(place.path(), &[&train[..], &["--set", held_out]].concat(), 2);
        assert!(said.contains(note) && said.contains(remedy), "{held_out}: {said}");
    }
    let with_validation = by_part.edited("test = 12", "test = 12\nvalidation = 12");
    fs::write(place.path().join("mine.toml"), with_validation).unwrap();
    let said = stdout(place.path(), &check);
    assert!(said.contains(note), "{said}");
}

/// A second note advised a key of a recipe, where there was none.
#[test]
fn an_empty_cell_among_the_patients_of_a_folder_is_said_once() {
    let place = place();
    scans_of_patients(place.path());
    let table = place.path().join("scans/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    fs::write(&table, rows.replacen(",p0\n", ",\n", 1)).unwrap();
    let gaps = "column `patient` has empty cells, so rows of one patient may be in both splits";
    let few = ["--set", "train.iterations=1", "--set", "probe.steps=2", "--device", "cpu", "--out", "run"];
    for command in [
        &[&["train", "scans", "--hide", "hospital", "--variant", "plain"][..], &few].concat()[..],
        &["data", "check", "scans"],
        &["init", "scans"],
    ] {
        let done = simile(place.path(), command).assert().success();
        let said = text_of(done.get_output());
        assert_eq!(said.matches(gaps).count(), 1, "{command:?}: {said}");
        assert!(!said.contains("seems to name"), "{command:?}: {said}");
    }
    assert!(!stderr(place.path(), &["evaluate", "run"]).contains("seems to name"));
    let of_file = stdout(place.path(), &["data", "check", "scans.toml", "--data", "scans"]);
    let remedy = "fill its empty cells, and write subject = \"patient\" in [data.table]";
    assert!(of_file.contains("seems to name") && of_file.contains(remedy), "{of_file}");
}

#[test]
fn numbers_of_pictures_that_are_not_there_are_errors_of_usage() {
    let place = place();
    scans(place.path(), 60);
    stdout(place.path(), &["init", "scans"]);
    for (set, reason) in [
        ("data.test=400", "`data.test` is 400, expected 1 to 59 of 60 pictures"),
        ("data.validation=400", "`data.validation` is 400, expected 1 to 47 of 48 training images"),
    ] {
        let text = complaint(place.path(), &["train", "scans.toml", "--data", "scans", "--set", set], 2);
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn pictures_that_have_moved_are_said_once() {
    let place = place();
    scans(place.path(), 60);
    let few = ["--set", "train.iterations=1", "--set", "probe.steps=2", "--device", "cpu", "--out", "run"];
    simile(place.path(), &[&["train", "scans"], &few[..]].concat()).assert().success();
    fs::rename(place.path().join("scans"), place.path().join("moved")).unwrap();
    for command in [&["evaluate", "run"][..], &["train", "--resume", "run", "--set", "train.iterations=2"]] {
        let text = complaint(place.path(), command, 1);
        assert!(text.contains("name their folder with --data DIR"), "{text}");
        assert!(!text.contains("is not a folder"), "{text}");
    }
}

#[test]
fn what_the_user_did_not_set_is_not_said_and_folders_and_files_are_told_apart() {
    let place = place();
    scans(place.path(), 60);
    let said = stderr(place.path(), &["init", "scans", "--hide", "hospital"]);
    assert!(!said.contains("all are taken"), "{said}");
    for (command, reason) in [
        (["data", "check", "missing.toml"], "there is no file `missing.toml`"),
        (["data", "preview", "scans"], "`scans` is a folder; write its recipe with `simile init scans`"),
        (["data", "measure", "scans"], "`scans` is a folder; write its recipe with `simile init scans`"),
    ] {
        let text = complaint(place.path(), &command, 2);
        assert!(text.contains(reason), "{text}");
    }
    // A folder that is named twice is the same one, so that the next fault is named.
    for (data, reason) in [
        ("./scans", "column `label` says the class, so it can be neither hidden nor kept"),
        ("other", "--data names another one, other"),
    ] {
        let text = complaint(place.path(), &["train", "scans", "--data", data, "--hide", "label"], 2);
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn a_folder_is_checked_by_the_table_and_the_class_that_are_named() {
    let place = place();
    scans(place.path(), 60);
    let folder = place.path().join("scans");
    let table = fs::read_to_string(folder.join("images.csv")).unwrap();
    fs::write(folder.join("other.csv"), table.edited("file,label", "file,shape")).unwrap();
    let text = complaint(place.path(), &["data", "check", "scans"], 2);
    assert!(text.contains("--csv"), "{text}");
    let named = ["data", "check", "scans", "--csv", "other.csv", "--label", "shape"];
    assert!(stdout(place.path(), &named).contains("is sound"));
    let text = complaint(place.path(), &["data", "check", "digits", "--label", "shape"], 2);
    assert!(text.contains("`digits` is none"), "{text}");
}

#[test]
fn a_folder_with_the_name_of_drawn_data_is_told_from_them() {
    for name in ["digits", "fair-digits"] {
        let place = place();
        scans(place.path(), 60);
        let said = || stderr(place.path(), &["data", "check", name]);
        assert!(!said().contains("ship with the program"), "{}", said());
        fs::rename(place.path().join("scans"), place.path().join(name)).unwrap();
        let note =
            format!("`{name}` names drawn data that ship with the program; write ./{name} for the folder");
        assert!(said().contains(&note), "{}", said());
        let of_folder = stdout(place.path(), &["data", "check", &format!("./{name}")]);
        assert!(of_folder.contains("hospital"), "{of_folder}");
    }
}

#[test]
fn a_folder_with_the_name_of_the_data_set_of_tables_is_told_from_it() {
    let place = place();
    scans(place.path(), 60);
    fs::rename(place.path().join("scans"), place.path().join("table")).unwrap();
    let text = complaint(place.path(), &["data", "check", "table"], 2);
    assert!(text.contains("write ./table for the folder") && !text.contains("data check DIR"), "{text}");
    let of_folder = stdout(place.path(), &["data", "check", "./table"]);
    assert!(of_folder.contains("hospital"), "{of_folder}");
}

#[test]
fn folders_of_classes_have_a_recipe_too() {
    let place = place();
    let mut dice = Dice(3);
    for (class, name) in CLASSES.iter().enumerate() {
        fs::create_dir_all(place.path().join("shapes").join(name)).unwrap();
        for at in 0..12 {
            let file = place.path().join(format!("shapes/{name}/{at}.png"));
            scan(class, at % 3, 50.0, &mut dice).save(file).unwrap();
        }
    }
    let answer = json(place.path(), &["train", "shapes", "--smoke", "--json"]);
    assert_eq!((&answer["recipe"], &answer["arms"][0]["name"]), (&"shapes".into(), &"plain".into()));
    // These pictures have no attribute, and neither recipe nor result names one. The second run of the command reads the result.
    assert_eq!(answer["condition"], "");
    let seeds = ["train", "shapes", "--smoke", "--seeds", "2", "--out", "seeds"];
    let first = stdout(place.path(), &seeds);
    let recipe = fs::read_to_string(place.path().join("seeds/seed-1/recipe.toml")).unwrap();
    assert!(recipe.contains("[probe]\ncondition = \"\""), "{recipe}");
    assert_eq!(stdout(place.path(), &seeds), first);
    let named =
        ["train", "shapes", "--smoke", "--set", "probe.condition=hospital", "--out", "named", "--json"];
    let named = json(place.path(), &named);
    let warnings = named["arms"][0]["warnings"].to_string();
    assert!(warnings.contains("no attributes") && warnings.contains("`hospital`"), "{named}");
    let unheeded = complaint(place.path(), &["evaluate", "named", "--condition", "hospital"], 2);
    assert!(unheeded.contains("no attributes"), "{unheeded}");
    let refused = complaint(place.path(), &["train", "shapes", "--hide", "hospital"], 2);
    assert!(refused.contains("no CSV file") && refused.contains("file,label,hospital"), "{refused}");
    fs::create_dir(place.path().join("flat")).unwrap();
    fs::copy(place.path().join("shapes/bar/0.png"), place.path().join("flat/0.png")).unwrap();
    let flat = complaint(place.path(), &["init", "flat"], 2);
    assert!(flat.contains("no folder of a class") && flat.contains("file,label"), "{flat}");
}

#[test]
fn the_table_of_a_spreadsheet_is_read_and_its_patients_are_held_out_whole() {
    let place = place();
    scans(place.path(), 60);
    let table = place.path().join("scans/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    let spreadsheet = |(at, row): (usize, &str)| {
        let cells: Vec<&str> = row.split(',').collect();
        match at {
            0 => "\u{feff}file;label;hospital;age;Patient\r\n".to_owned(),
            _ => format!("{};{};{};{},5;p{}\r\n", cells[0], cells[1], cells[2], cells[3], at / 4),
        }
    };
    fs::write(&table, rows.lines().enumerate().map(spreadsheet).collect::<String>()).unwrap();
    let said = stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    let recipe = fs::read_to_string(place.path().join("scans.toml")).unwrap();
    assert!(
        recipe.contains("subject = \"Patient\" ") && recipe.contains("of whole subjects"),
        "{said}{recipe}"
    );
    let check = simile(place.path(), &["data", "check", "scans"]).assert().success();
    let text = stdout_of(check.get_output());
    assert!(text.contains("age: number from") && text.contains("decimal points: line 2"), "{text}");
    // Of 16 patients, all but the first and the last have four pictures.
    let held_out = text.lines().find(|line| line.starts_with("test")).unwrap();
    let held_out: usize = held_out.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((11..=12).contains(&held_out), "{text}");
    let said = stderr_of(check.get_output());
    assert!(said.contains("pictures of one `Patient` are held out together"), "{said}");
    // Patients of one, three and four pictures are never six together.
    let fewer = recipe.edited("\ntest = 12 ", "\ntest = 6 ");
    fs::write(place.path().join("fewer.toml"), fewer).unwrap();
    let check = stdout(place.path(), &["data", "check", "fewer.toml", "--data", "scans"]);
    let held_out = check.lines().find(|line| line.starts_with("test")).unwrap();
    let held_out: usize = held_out.split_whitespace().nth(1).unwrap().parse().unwrap();
    let said = format!("`data.test` is 6: {held_out} pictures of whole subjects are held out");
    assert!(held_out < 6 && check.contains(&said), "{check}");
    // Three or four patients are as many coins: p is a multiple of 2 / 2ⁿ, for which 11 pictures would be too many.
    let short = ["train", "scans.toml", "--set", "train.iterations=2", "--out", "run"];
    simile(place.path(), &[&short[..], &["--data", "scans", "--device", "cpu"]].concat()).assert().success();
    let result = result(&place.path().join("run"));
    let subjects = result["images"]["test_subjects"].as_u64().unwrap() as i32;
    assert!((3..=4).contains(&subjects), "{}", result["images"]);
    let paired = result["arms"][1]["paired"].as_object().unwrap();
    assert!(paired.contains_key("top1"), "{paired:?}");
    for p in paired.values() {
        assert_eq!((p.as_f64().unwrap() * 2_f64.powi(subjects - 1)).fract(), 0.0, "{paired:?}");
    }
    let verdict = result["verdict"].to_string();
    assert!(verdict.contains(&format!("McNemar's exact test on the {subjects} subjects")), "{verdict}");
}

#[test]
fn a_folder_is_checked_and_nothing_is_refused_silently() {
    let place = place();
    scans(place.path(), 60);
    let folder = place.path().join("scans");
    let check = ["data", "check", "scans"];
    let text = stdout(place.path(), &check);
    for part in [
        "hospital: category of 3 values",
        "age: number from",
        "Cram\u{e9}r's V",
        "correlation ratio",
        "class x hospital",
        "0 broken, 0 blank",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    spoil(&folder);
    let answer = json(place.path(), &["data", "check", "scans", "--json"]);
    let survey = &answer["survey"];
    let variable = |name: &str| -> &Value {
        survey["variables"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
    };
    assert_eq!((&variable("age")["type"], &variable("age")["missing"]), (&"number".into(), &2.into()));
    assert_eq!(
        (&variable("hospital")["type"], &variable("hospital")["missing"]),
        (&"category".into(), &0.into())
    );
    let faults = &survey["faults"];
    assert_eq!((&faults["blank"][0], &faults["equal"][0]), (&"20.png".into(), &json!(["21.png", "22.png"])));
    let broken = faults["broken"][0].as_str().unwrap();
    assert!(broken.contains("23.png") && broken.matches("unexpected end of file").count() <= 1, "{broken}");
    assert!(survey["notes"][0].as_str().unwrap().contains("2 of 60 rows are left out"), "{survey}");

    a_recipe_that_leaves_nothing_out_is_refused(place.path());
}

/// Empties cells of the table of a folder, and makes pictures blank, equal and broken.
fn spoil(folder: &Path) {
    let table = fs::read_to_string(folder.join("images.csv")).unwrap();
    let emptied = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{},{},,{}\n", cells[0], cells[1], cells[2], cells[4])
    };
    let lines: Vec<String> = table
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 4 || at == 9 { emptied(line) } else { format!("{line}\n") })
        .collect();
    fs::write(folder.join("images.csv"), lines.concat()).unwrap();
    picture(&folder.join("20.png"), [40, 40], |_, _| [9, 80, 9]);
    fs::copy(folder.join("21.png"), folder.join("22.png")).unwrap();
    let whole = fs::read(folder.join("23.png")).unwrap();
    fs::write(folder.join("23.png"), &whole[..whole.len() / 2]).unwrap();
}

/// Asserts that `init` writes a recipe that leaves faults out, and that one without these keys is refused, by a check and by a run.
fn a_recipe_that_leaves_nothing_out_is_refused(place: &Path) {
    let mut recipe = stdout(place, &["init", "scans", "--keep", "age", "--out", "a.toml"]);
    recipe += &fs::read_to_string(place.join("a.toml")).unwrap();
    assert!(recipe.contains("missing = \"skip\"") && recipe.contains("broken = \"skip\""), "{recipe}");
    let strict: String = fs::read_to_string(place.join("a.toml"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with("missing =") && !line.starts_with("broken ="))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(place.join("strict.toml"), strict).unwrap();
    let output = simile(place, &["data", "check", "strict.toml", "--data", "scans"]).assert().code(1);
    let said = stdout_of(output.get_output());
    assert!(said.contains("line 5: column `age` is empty") && said.contains("23.png"), "{said}");
    let reason = stderr_of(output.get_output());
    let refusal = "a run would refuse the pictures in scans: ";
    assert!(reason.contains(refusal) && reason.contains("column `age` is empty"), "{reason}");
    let run = complaint(place, &["train", "strict.toml", "--data", "scans"], 1);
    assert!(run.contains("column `age` is empty"), "{run}");
    let table = complaint(place, &["data", "check", "table", "--data", "scans"], 2);
    assert!(table.contains("simile init DIR") && !table.contains("did you mean"), "{table}");
}
