use std::fs;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::to_matrix;

use super::*;
use crate::export::vectors::Format;

const ROWS: usize = 2500;

/// A folder with the same vectors as one file and as three, in every format, and their table.
fn folder() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..ROWS).map(|row| format!("scans/{row}.png")).collect();
    let vectors = Matrix::from_fn(ROWS, 3, |row, at| f64::from(((row * 7 + at) as f32).sin()));
    for format in ["npy", "csv", "parquet"] {
        for (name, rows) in [("whole", 0..ROWS), ("0", 0..1), ("1", 1..1500), ("2", 1500..ROWS)] {
            let path = place.path().join(format!("{name}.{format}"));
            let mut file = Format::of(&path).unwrap().begin(&path, [rows.len(), 3]).unwrap();
            let rows: Vec<usize> = rows.collect();
            for rows in rows.chunks(64) {
                let of: Vec<String> = rows.iter().map(|&row| names[row].clone()).collect();
                file.push(&of, &vectors.select(rows)).unwrap();
            }
            file.finish().unwrap();
        }
    }
    let line = |row: usize| {
        let (class, split) = (["cat", "dog"][row % 2], if row.is_multiple_of(3) { "test" } else { "train" });
        format!("{row}.png,{class},{split},{},{}.5,{}\n", ["north", "south"][row / 2 % 2], row, row % 4)
    };
    let table = (0..ROWS).map(line).collect::<String>();
    fs::write(place.path().join("table.csv"), format!("file,label,split,hospital,age,site\n{table}"))
        .unwrap();
    place
}

fn read(place: &Path, parts: &[&str], table: &str) -> Result<ProbeVectors> {
    let parts: Vec<PathBuf> = parts.iter().map(|part| place.join(part)).collect();
    ProbeVectors::read(Sources {
        parts: &parts,
        table: Some(&place.join(table)),
        label: None,
        condition: None,
    })
}

#[test]
fn the_column_of_the_patients_is_no_attribute_unless_it_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let table = place.path().join("table.csv");
    let row =
        |at: usize| format!("{},{},p{}\n", ["ill", "well"][at % 2], ["north", "south"][at / 2 % 2], at / 2);
    fs::write(&table, format!("label,hospital,patient\n{}", (0..20).map(row).collect::<String>())).unwrap();
    let read = |wanted: Option<&str>| {
        let catalogue = table::read(&table, None, wanted).unwrap().table.catalogue;
        let names: Vec<String> = catalogue.conditions.into_keys().collect();
        (names, catalogue.subjects.is_some())
    };
    assert_eq!(read(None), (vec!["hospital".into()], true));
    assert_eq!(read(Some("patient")), (vec!["hospital".into(), "patient".into()], false));
}

/// Its leak was no longer measured, without a word.
#[test]
fn the_column_of_the_patients_is_an_attribute_where_a_column_says_the_splits() {
    let place = tempfile::tempdir().unwrap();
    let table = place.path().join("table.csv");
    let row = |at: usize| {
        let split = if at < 20 { "train" } else { "test" };
        format!("{},{split},{},p{}\n", ["ill", "well"][at % 2], ["north", "south"][at / 2 % 2], at % 10)
    };
    let rows: String = (0..30).map(row).collect();
    fs::write(&table, format!("label,split,hospital,patient\n{rows}")).unwrap();
    let catalogue = table::read(&table, None, None).unwrap().table.catalogue;
    assert_eq!(catalogue.conditions.keys().collect::<Vec<_>>(), ["hospital", "patient"]);
    assert!(catalogue.subjects.is_some());
}

#[test]
fn parts_are_the_whole_in_every_format() {
    let place = folder();
    let whole = read(place.path(), &["whole.npy"], "table.csv").unwrap();
    assert_eq!((whole.train.dataset.len(), whole.test.dataset.len()), (1666, 834));
    let features = to_matrix(&whole.test.features).unwrap();
    assert_eq!(features[(1, 2)], f64::from(23.0_f32.sin()), "row 3 is the second one to test on");
    assert!(matches!(
        &whole.test.dataset.conditions["site"],
        simile_core::data::Condition::Categorical { .. }
    ));
    for format in ["npy", "csv", "parquet"] {
        let names = ["0", "1", "2"].map(|part| format!("{part}.{format}"));
        let parts = read(place.path(), &names.each_ref().map(String::as_str), "table.csv").unwrap();
        for (split, of_whole) in [(&parts.train, &whole.train), (&parts.test, &whole.test)] {
            assert_eq!(to_matrix(&split.features).unwrap(), to_matrix(&of_whole.features).unwrap());
            assert_eq!(split.dataset.labels, of_whole.dataset.labels);
            assert_eq!(split.dataset.conditions, of_whole.dataset.conditions);
        }
    }
}

#[test]
fn rows_that_do_not_belong_together_are_refused() {
    let place = folder();
    let error = |parts: &[&str], table: &str| {
        read(place.path(), parts, table).err().map(|error| format!("{error:#}")).unwrap()
    };
    let swapped = error(&["1.csv", "0.csv", "2.csv"], "table.csv");
    assert!(swapped.contains("vector 1 is of scans/1.png") && swapped.contains("0.png"), "{swapped}");
    let few = error(&["0.npy", "2.npy"], "table.csv");
    assert!(few.contains("1001 vectors") && few.contains("2500 rows"), "{few}");
    fs::write(place.path().join("b.csv"), "image,v0\na.png,1\n").unwrap();
    let wide = error(&["0.csv", "b.csv"], "table.csv");
    assert!(wide.contains("1 numbers each") && wide.contains("0.csv have 3"), "{wide}");
    fs::write(place.path().join("c.csv"), "image,v0\nscans/0.png,one\n").unwrap();
    assert!(error(&["c.csv"], "table.csv").contains("line 2: `one` is not a number"));
    fs::write(place.path().join("d.csv"), "image,v0\r\nscans/0.png,1\r\nscans/1.png,one\r\n").unwrap();
    assert!(error(&["d.csv"], "table.csv").contains("line 3: `one` is not a number"));
    for (text, told) in
        [("", "it is empty; expected"), ("image\na.png\n", "no column beside `image`; expected")]
    {
        fs::write(place.path().join("narrow.csv"), text).unwrap();
        let narrow = error(&["narrow.csv"], "table.csv");
        assert!(narrow.contains(told), "{narrow}");
    }
    // The first number of each vector was taken for a name.
    fs::write(place.path().join("e.csv"), "v0,v1\n1,2\n-0.25,3\n").unwrap();
    let nameless = error(&["e.csv"], "table.csv");
    assert!(nameless.contains("such as -0.25, where the name of the image"), "{nameless}");
    fs::write(place.path().join("f.csv"), "row,v0\n0,2.5\n1,3\n").unwrap();
    assert!(error(&["f.csv"], "table.csv").contains("2 vectors"), "numbers of rows are no names");
    for (header, numbers_rows) in
        [("", true), ("Index", true), ("image_id", true), ("Unnamed: 0", true), ("v0", false), ("4", false)]
    {
        fs::write(place.path().join("g.csv"), format!("{header},v1\n0,2.5\n1,3\n")).unwrap();
        let whole = error(&["g.csv"], "table.csv");
        let refusal = if numbers_rows { "2 vectors" } else { "such as 0, where the name of the image" };
        assert!(whole.contains(refusal), "`{header}`: {whole}");
    }
    fs::write(place.path().join("short.csv"), "file,age\na.png,1\n").unwrap();
    assert!(error(&["whole.npy"], "short.csv").contains("--label COLUMN"));
    for (label, condition) in [(Some("lable"), None), (None, Some("lable"))] {
        let unknown =
            table::read(&place.path().join("table.csv"), label, condition).err().unwrap().to_string();
        let hint = "table.csv has no column `lable`; did you mean `label`? known: file, label, split, hospital, age, site";
        assert!(unknown.ends_with(hint), "{unknown}");
    }
    let parts = [place.path().join("whole.npy")];
    let sources = Sources { parts: &parts, table: None, label: None, condition: None };
    assert!(ProbeVectors::read(sources).err().unwrap().to_string().contains("--table"));
}

#[test]
fn numbers_of_rows_are_no_names_of_files() {
    let place = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| fs::write(place.path().join(name), content).unwrap();
    put("table.csv", "file,label\n0007.jpg,a\n0003.jpg,b\n0005.jpg,a\n");
    let rows_of = |numbers: [&str; 3]| numbers.map(|number| format!("{number},1,2\n")).concat();
    for (header, numbers) in [("", ["0", "1", "2"]), ("image", ["1", "2", "3"])] {
        put("rows.csv", &format!("{header},v0,v1\n{}", rows_of(numbers)));
        let given = read(place.path(), &["rows.csv"], "table.csv").unwrap();
        assert_eq!(given.train.dataset.len() + given.test.dataset.len(), 3);
    }
    put("first.csv", "image,v0,v1\n0,1,2\n");
    for second in ["image,v0,v1\n1,1,2\n2,1,2\n", "image,v0,v1\n0,1,2\n1,1,2\n"] {
        put("second.csv", second);
        assert!(read(place.path(), &["first.csv", "second.csv"], "table.csv").is_ok(), "{second}");
    }
    let refused = |table: &str, numbers: [&str; 3]| {
        put("rows.csv", &format!("image,v0,v1\n{}", rows_of(numbers)));
        format!("{:#}", read(place.path(), &["rows.csv"], table).err().unwrap())
    };
    let order = refused("table.csv", ["2", "0", "1"]);
    assert!(order.contains("vector 1 is of 2, and row 1 of ") && order.contains("same order"), "{order}");
    put("numbers.csv", "file,label\n2,a\n1,b\n0,a\n");
    let named = refused("numbers.csv", ["0", "1", "2"]);
    assert!(named.contains("vector 1 is of 0, and row 1 of "), "{named}");
}

/// Writes a Parquet file of vectors of two numbers and columns of words, in which an empty word is a cell without a value.
fn write_parquet(path: &Path, columns: &[(&str, &[&str])]) {
    let words: String =
        columns.iter().map(|(name, _)| format!("optional binary {name} (STRING); ")).collect();
    let schema = format!(
        "message table {{ {words}required group vector (LIST) {{ repeated group list {{ required double element; }} }} }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (_, cells) in columns {
        let levels: Vec<i16> = cells.iter().map(|cell| i16::from(!cell.is_empty())).collect();
        let words: Vec<ByteArray> =
            cells.iter().filter(|cell| !cell.is_empty()).map(|cell| ByteArray::from(*cell)).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&words, Some(&levels), None).unwrap();
        column.close().unwrap();
    }
    let numbers = 2 * columns[0].1.len();
    let values: Vec<f64> = (0..numbers).map(|at| at as f64).collect();
    let repetitions: Vec<i16> = (0..numbers).map(|at| i16::from(at % 2 == 1)).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&values, Some(&vec![1; numbers]), Some(&repetitions)).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.into_inner().unwrap();
}

#[test]
fn names_with_an_empty_cell_are_refused_where_a_table_names_files() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("table.csv"), "file,label\na.png,x\nb.png,y\nc.png,x\nd.png,y\n").unwrap();
    fs::write(place.path().join("labels.csv"), "label\nx\ny\nx\ny\n").unwrap();
    let file = place.path().join("gap.parquet");
    let class: (&str, &[&str]) = ("class", &["x", "y", "x", "y"]);
    let path: (&str, &[&str]) = ("path", &["b.png", "", "c.png", "a.png"]);
    write_parquet(&file, &[class, path]);
    let error = format!("{:#}", read(place.path(), &["gap.parquet"], "table.csv").err().unwrap());
    assert!(error.contains("gap.parquet: 1 of the cells of its column `path` have no value"), "{error}");
    assert!(error.contains("table.csv; fill them, or leave the column out"), "{error}");
    assert!(read(place.path(), &["gap.parquet"], "labels.csv").is_ok(), "no name to compare with");
    let sources = Sources { parts: &[file], table: None, label: None, condition: None };
    assert!(ProbeVectors::read(sources).is_ok(), "the file has the class of each vector itself");
}

#[test]
fn what_is_empty_in_one_file_is_left_out_of_all() {
    let place = tempfile::tempdir().unwrap();
    let parts = ["a.parquet", "b.parquet"].map(|name| place.path().join(name));
    let class: (&str, &[&str]) = ("class", &["x", "y", "x", "y"]);
    let hospital: (&str, &[&str]) = ("hospital", &["north", "north", "south", "south"]);
    let whole: &[&str] = &["one", "two", "two", "one"];
    let gap: &[&str] = &["one", "", "two", "one"];
    for (first, second, left) in [
        (whole, whole, &["hospital", "site"][..]),
        (whole, gap, &["hospital"][..]),
        (gap, whole, &["hospital"][..]),
        (gap, gap, &["hospital"][..]),
    ] {
        for (part, site) in parts.iter().zip([first, second]) {
            write_parquet(part, &[class, ("site", site), hospital]);
        }
        let sources = Sources { parts: &parts, table: None, label: None, condition: None };
        let given = ProbeVectors::read(sources).unwrap();
        let names: Vec<&str> = given.train.dataset.conditions.keys().map(String::as_str).collect();
        assert_eq!(names, left, "{first:?}, {second:?}");
        assert_eq!(given.train.dataset.len() + given.test.dataset.len(), 8);
    }
}

#[test]
fn vectors_between_semicolons_are_refused_with_the_separator() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("v.csv"), "image;v0;v1\na;0,5;1\nb;1;2\n").unwrap();
    fs::write(place.path().join("table.csv"), "label\na\nb\n").unwrap();
    let error = format!("{:#}", read(place.path(), &["v.csv"], "table.csv").err().unwrap());
    assert!(error.contains("a semicolon separates its cells; write vectors with commas"), "{error}");
}

/// A file as `numpy.save` writes it from three vectors of two numbers in `f64`.
fn in_double(values: [f64; 6]) -> Vec<u8> {
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }\n";
    let start = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    start.into_iter().chain(values.into_iter().flat_map(f64::to_le_bytes)).collect()
}

#[test]
fn a_number_beyond_single_precision_is_named_with_its_place() {
    let place = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &[u8]| fs::write(place.path().join(name), content).unwrap();
    put("table.csv", b"label\na\nb\na\n");
    put("wide.npy", &in_double([0.5, 1e-300, 3e38, -7.0, 2.0, -4e38]));
    put("wide.csv", b"image,v0,v1\na,0.5,1e-300\nb,3e38,-7\nc,2,-4e38\n");
    put("none.npy", &in_double([0.5, 1.0, f64::NAN, -7.0, 2.0, 3.0]));
    let error = |file: &str| format!("{:#}", read(place.path(), &[file], "table.csv").err().unwrap());
    let of_npy = error("wide.npy");
    assert!(
        of_npy.contains("wide.npy: vector 3, number 2 is -4e38, and vectors are kept in f32"),
        "{of_npy}"
    );
    let of_csv = error("wide.csv");
    assert!(
        of_csv.contains("wide.csv: line 4, number 2 is -4e38") && of_csv.contains("scale them"),
        "{of_csv}"
    );
    let none = error("none.npy");
    assert!(none.contains("none.npy: vector 2, number 1 is NaN, which is no finite number"), "{none}");
    put("narrow.npy", &in_double([0.1, 1e-300, 3e38, -7.0, 2.0, 1.0 + 1e-12]));
    let given = read(place.path(), &["narrow.npy"], "table.csv").unwrap();
    let kept: Vec<f64> = [given.train, given.test]
        .iter()
        .flat_map(|split| to_matrix(&split.features).unwrap().data().to_vec())
        .collect();
    let expected = [0.1, 0.0, 3e38, -7.0, 2.0, 1.0].map(|value| f64::from(value as f32));
    assert!(expected.iter().all(|value| kept.contains(value)), "the nearest of each: {kept:?}");
}

/// A file without blocks on the disk, of which not even a part is read.
#[cfg(unix)]
#[test]
fn vectors_that_memory_cannot_hold_are_refused_before_they_are_read() {
    let place = folder();
    let path = place.path().join("whole.npy");
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 41).unwrap();
    let error =
        read(place.path(), &["whole.npy"], "table.csv").err().map(|error| format!("{error:#}")).unwrap();
    assert!(error.contains("whole.npy needs 2.2 TB of memory"), "{error}");
    assert!(error.contains("divide it into several"), "{error}");
}

#[test]
fn without_a_split_a_fifth_is_held_out() {
    let place = folder();
    let table: String = (0..ROWS).map(|row| format!("{},{}\n", row % 3, 40 + row % 30)).collect();
    fs::write(place.path().join("plain.csv"), format!("class,age\n{table}")).unwrap();
    let given = read(place.path(), &["whole.csv"], "plain.csv").unwrap();
    assert_eq!((given.train.dataset.len(), given.test.dataset.len()), (2000, 500));
    assert_eq!(given.evaluation_split, EvaluationSplit::NoColumn);
    assert_eq!(given.evaluation_split.in_protocol(), "held-out (no column says which)");
}

#[test]
fn without_a_test_split_the_validation_split_is_measured_on() {
    let place = folder();
    let table = |validation: &str| {
        let split = |row: usize| if row.is_multiple_of(5) { validation } else { "train" };
        (0..ROWS).map(|row| format!("{},{}\n", row % 3, split(row))).collect::<String>()
    };
    fs::write(place.path().join("two.csv"), format!("class,split\n{}", table("validation"))).unwrap();
    let given = read(place.path(), &["whole.csv"], "two.csv").unwrap();
    assert_eq!((given.train.dataset.len(), given.test.dataset.len()), (2000, 500));
    assert_eq!(given.evaluation_split, EvaluationSplit::Validation);
    fs::write(place.path().join("capitals.csv"), format!("class,split\n{}", table("Test"))).unwrap();
    let error = read(place.path(), &["whole.csv"], "capitals.csv").err().unwrap().to_string();
    assert!(error.contains("capitals.csv: line 2: column `split` is `Test`"), "{error}");
    fs::write(
        place.path().join("gap.csv"),
        format!("class,split\n{}", table("test").replacen(",test", ",", 1)),
    )
    .unwrap();
    let error = read(place.path(), &["whole.npy"], "gap.csv").err().unwrap().to_string();
    assert!(
        error.contains("gap.csv: line 2: column `split` is empty; write the split of every row"),
        "{error}"
    );
    assert!(!error.contains("[data.table]"), "{error}");
}
