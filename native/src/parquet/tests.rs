use std::io::{Seek as _, Write as _};
use std::sync::Arc;

use anyhow::Result;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

/// A file of `rows` rows in parts of 7.
fn written(rows: usize, length: usize) -> Vec<u8> {
    let columns = [
        ("path", CellKind::Text),
        ("index", CellKind::Whole),
        ("an age, in \"years\"", CellKind::Number),
        (VECTOR, CellKind::List(length)),
    ];
    let mut writer = Writer::begin(Vec::new(), &columns).unwrap();
    let all: Vec<usize> = (0..rows).collect();
    for part in all.chunks(7) {
        writer.push(cells(part, length)).unwrap();
    }
    writer.finish().unwrap()
}

fn cells(rows: &[usize], length: usize) -> Vec<Cells> {
    let value = |row: &usize, at: usize| (*row as f32).mul_add(0.5, at as f32);
    vec![
        Cells::Text(rows.iter().map(|row| format!("in it/Ä{row}.png")).collect()),
        Cells::Whole(rows.iter().map(|&row| row as i64 - 3).collect()),
        Cells::Number(rows.iter().map(|&row| row as f64 / 3.0).collect()),
        Cells::List {
            length,
            values: rows.iter().flat_map(|row| (0..length).map(|at| value(row, at))).collect(),
        },
    ]
}

fn groups(bytes: &[u8], keep: impl FnMut(Vec<(String, Cells)>) -> Result<()>) -> Result<Vec<Unread>> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    each_group(file, keep)
}

/// The columns of all groups of rows, one after the other.
fn columns_of(bytes: &[u8]) -> Result<Vec<(String, Cells)>> {
    let mut columns = Vec::new();
    groups(bytes, |group| {
        columns.extend(group);
        Ok(())
    })?;
    Ok(columns)
}

#[test]
fn a_table_reads_back_as_it_was_written() {
    for (rows, length) in [(0, 3), (1, 1), (20, 5), (2100, 2048)] {
        let mut read = Vec::new();
        let (mut groups_read, mut at) = (0, 0);
        groups(&written(rows, length), |columns| {
            let count = columns[0].1.rows();
            let expected = cells(&(at..at + count).collect::<Vec<_>>(), length);
            assert!(columns.iter().map(|(_, cells)| cells).eq(&expected), "rows from {at}");
            read = columns.into_iter().map(|(name, _)| name).collect();
            (groups_read, at) = (groups_read + 1, at + count);
            Ok(())
        })
        .unwrap();
        assert_eq!(at, rows);
        assert_eq!(groups_read > 1, rows * length > 1 << 22, "{rows} x {length}");
        assert!(rows == 0 || read == ["path", "index", "an age, in \"years\"", VECTOR], "{read:?}");
    }
}

#[test]
fn a_column_of_booleans_is_a_category() {
    let schema = Arc::new(parse_message_type("message table { required boolean smokes; }").unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<BoolType>().write_batch(&[true, false, true], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let read = columns_of(&file.into_inner().unwrap()).unwrap();
    let cells = Cells::Text(["true", "false", "true"].map(String::from).into());
    assert_eq!(read, [("smokes".to_owned(), cells)]);
}

/// The name of a column that is left out, and its type.
fn name_and_type(Unread { name, reason }: &Unread) -> String {
    match reason {
        UnreadReason::Type(kind) => format!("{name} {kind}"),
        UnreadReason::Empty(cells) => format!("{name} with {cells} empty cells"),
    }
}

/// Columns by their names.
type Columns = Vec<(String, Cells)>;

/// The columns that are read from a file with these columns of integers: each by its type and name in the schema, and its values.
fn integers(columns: &[(&str, [i64; 2])]) -> Result<Columns> {
    Ok(integers_and_unread(columns)?.0)
}

/// The columns of all groups of a file, and those that are not read.
fn read_back(file: &[u8]) -> Result<(Columns, Vec<Unread>)> {
    let mut read = Vec::new();
    let unread = groups(file, |columns| {
        read.extend(columns);
        Ok(())
    })?;
    Ok((read, unread))
}

/// The same, and the columns that are not read.
fn integers_and_unread(columns: &[(&str, [i64; 2])]) -> Result<(Columns, Vec<Unread>)> {
    let fields: String = columns.iter().map(|(field, _)| format!("required {field}; ")).collect();
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields}}}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (field, values) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        if field.starts_with("int32") {
            let values = values.map(|value| value as i32);
            column.typed::<Int32Type>().write_batch(&values, None, None).unwrap();
        } else {
            column.typed::<Int64Type>().write_batch(values, None, None).unwrap();
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    read_back(&file.into_inner().unwrap())
}

#[test]
fn unsigned_columns_do_not_turn_negative() {
    let read = integers(&[
        ("int32 signed", [-5, 7]),
        ("int32 grey (INTEGER(8,false))", [200, 255]),
        ("int32 depth (UINT_16)", [1, 65_535]),
        ("int32 patient (INTEGER(32,false))", [3_000_000_000, 4_294_967_295]),
        ("int64 serial (INTEGER(64,false))", [0, i64::MAX]),
    ]);
    let cells: Vec<Cells> = read.unwrap().into_iter().map(|(_, cells)| cells).collect();
    let expected = [[-5, 7], [200, 255], [1, 65_535], [3_000_000_000, 4_294_967_295], [0, i64::MAX]];
    assert_eq!(cells, expected.map(|values| Cells::Whole(values.into())));
    // The bits of 18446744073709551615.
    let error = format!("{:#}", integers(&[("int64 hash (UINT_64)", [3, -1])]).unwrap_err());
    assert!(error.contains("`hash`") && error.contains("above 9223372036854775807"), "{error}");
}

#[test]
fn a_decimal_is_the_number_that_it_stands_for() {
    let read =
        integers(&[("int32 dose (DECIMAL(8,2))", [625, -50]), ("int64 price (DECIMAL(18,0))", [3, 12])]);
    let of = |name: &str, values: [f64; 2]| (name.to_owned(), Cells::Number(values.into()));
    assert_eq!(read.unwrap(), [of("dose", [6.25, -0.5]), of("price", [3.0, 12.0])]);
}

#[test]
fn doubles_are_the_nearest_singles_or_named() {
    let read = |groups_of: &[[f64; 4]]| {
        let schema = "message schema { required group vector (LIST) { repeated group list { required double element; } } }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        for values in groups_of {
            let mut group = file.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(values, Some(&[1; 4]), Some(&[0, 1, 0, 1])).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        columns_of(&file.into_inner().unwrap())
    };
    let singles = read(&[[0.1, 2.0, -3e38, 1e-300]]).unwrap();
    let expected = Cells::List { length: 2, values: vec![0.1, 2.0, -3e38, 0.0] };
    assert_eq!(singles, [(VECTOR.to_owned(), expected)]);
    let error = format!("{:#}", read(&[[1.0; 4], [1.0, 2.0, 3.0, 1e39]]).unwrap_err());
    assert!(error.contains("`vector`") && error.contains("vector 4, number 2 is 1e39"), "{error}");
}

#[test]
fn dates_and_times_are_no_attributes_and_are_named() {
    let (read, unread) = integers_and_unread(&[
        ("int32 day (DATE)", [18_262, 18_263]),
        ("int32 hour (TIME(MILLIS,true))", [0, 1]),
        ("int64 minute (TIME(MICROS,true))", [0, 1]),
        ("int64 moment (TIME(NANOS,false))", [0, 1]),
        ("int64 seen (TIMESTAMP(MILLIS,true))", [0, 1]),
        ("int64 saved (TIMESTAMP_MICROS)", [0, 1]),
        ("int64 changed (TIMESTAMP(NANOS,false))", [0, 1]),
        ("int64 visits", [0, 1]),
    ])
    .unwrap();
    let names: Vec<String> = read.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["visits"]);
    let unread: Vec<String> = unread.iter().map(name_and_type).collect();
    for one in ["day DATE", "hour TIME", "moment TIME", "seen TIMESTAMP", "changed TIMESTAMP"] {
        assert!(unread.iter().any(|column| column == one), "{one}: {unread:?}");
    }
    assert_eq!(unread.len(), 7, "{unread:?}");
}

#[test]
fn columns_of_other_types_are_named() {
    let schema = "message table { required fixed_len_byte_array(16) dose (DECIMAL(10,2)); \
                  required fixed_len_byte_array(2) half (FLOAT16); required binary bytes; \
                  required group place { required binary street (STRING); required int32 number; } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build()));
    let unread = groups(&file.unwrap().into_inner().unwrap(), |_| Ok(())).unwrap();
    let named: Vec<String> = unread.iter().map(name_and_type).collect();
    assert_eq!(named, ["dose DECIMAL", "half FLOAT16", "bytes BYTE_ARRAY", "place group"]);
}

/// A file of a column of strings and one of lists, which may have empty cells: two groups of two rows each, with these definition
/// levels of the strings in the second group and these of the lists in both.
fn with_gaps(of_list: &str, strings: [i16; 2], lists: [i16; 2]) -> Result<(Columns, Vec<Unread>)> {
    let schema = format!(
        "message table {{ optional binary notes (STRING); optional group {of_list} (LIST) {{ repeated group list {{ required \
         double element; }} }} }}"
    );
    let properties = Arc::new(WriterProperties::builder().build());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for strings in [[1, 1], strings] {
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let filled =
            |levels: [i16; 2], highest: i16| levels.iter().filter(|&&level| level == highest).count();
        let texts = vec![ByteArray::from("seen"); filled(strings, 1)];
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&strings), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values = vec![0.5; filled(lists, 2)];
        column.typed::<DoubleType>().write_batch(&values, Some(&lists), Some(&[0, 0])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    read_back(&file.into_inner().unwrap())
}

#[test]
fn a_column_with_empty_cells_is_left_out_of_all_groups_and_counted() {
    let names = |read: &Columns| read.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let gap = |name: &str, cells: usize| Unread { name: name.into(), reason: UnreadReason::Empty(cells) };
    let (read, unread) = with_gaps(VECTOR, [0, 1], [2, 2]).unwrap();
    assert_eq!(names(&read), [VECTOR, VECTOR]);
    assert_eq!(unread, [gap("notes", 1)]);
    let (read, unread) = with_gaps("colour", [1, 1], [2, 0]).unwrap();
    assert_eq!(names(&read), ["notes", "notes"]);
    assert_eq!(unread, [gap("colour", 2)]);
    let (read, unread) = with_gaps(VECTOR, [1, 1], [2, 2]).unwrap();
    assert_eq!((read.len(), unread.len()), (4, 0));
    let error = format!("{:#}", with_gaps(VECTOR, [1, 1], [2, 0]).unwrap_err());
    assert!(error.contains("the column `vector`: a cell is empty; fill it"), "{error}");
}

#[test]
fn what_is_no_sound_table_is_refused() {
    let whole = written(20, 5);
    for wrong in [&b"PAR1"[..], b"no table at all, but text", &whole[..whole.len() - 1], &whole[40..]] {
        assert!(groups(wrong, |_| Ok(())).is_err());
    }
    let error = groups(&whole, |_| anyhow::bail!("enough")).unwrap_err();
    assert_eq!(error.to_string(), "enough");
}

#[test]
fn columns_that_do_not_belong_together_are_refused() {
    let columns = [("path", CellKind::Text), (VECTOR, CellKind::List(2))];
    let mut writer = Writer::begin(Vec::new(), &columns).unwrap();
    let vectors = |length, count| Cells::List { length, values: vec![0.0; length * count] };
    let names = |count| Cells::Text(vec![String::from("a"); count]);
    assert!(writer.push(vec![names(2), vectors(2, 1)]).is_err());
    assert!(writer.push(vec![names(2), vectors(3, 2)]).is_err());
    assert!(writer.push(vec![names(2)]).is_err());
    assert!(writer.push(vec![names(2), vectors(2, 2)]).is_ok());
}
