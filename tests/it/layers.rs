//! The one-way flow, read from the sources: who may import whom.
//!
//! The table is that of ARCHITECTURE.md. A pure room knows neither sockets nor clocks nor locks
//! because it cannot name them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A room, the rooms and the crates that it may name. `std`, `core` and itself are always
/// allowed. A room that is not listed is an edge, which may name what it needs.
struct Room {
    name: &'static str,
    rooms: &'static [&'static str],
    crates: &'static [&'static str],
}

const PURE: &[Room] = &[
    Room {
        name: "snapshot",
        rooms: &[],
        // serde_json reads recordings, humantime spans; see ONLY_IN.
        crates: &["jiff", "serde", "serde_json", "humantime", "thiserror"],
    },
    Room {
        name: "finding",
        rooms: &["snapshot"],
        crates: &["jiff", "serde"],
    },
    Room {
        name: "history",
        rooms: &["snapshot"],
        crates: &["jiff", "serde", "thiserror"],
    },
    Room {
        name: "placement",
        rooms: &["snapshot"],
        crates: &["jiff", "serde"],
    },
    Room {
        name: "rules",
        rooms: &["snapshot", "finding", "placement"],
        crates: &["jiff", "serde"],
    },
    Room {
        name: "incident",
        rooms: &["snapshot", "finding"],
        crates: &["jiff", "serde"],
    },
    Room {
        name: "capacity",
        rooms: &["snapshot", "placement"],
        crates: &["jiff", "serde"],
    },
    Room {
        name: "cycle",
        rooms: &[
            "snapshot",
            "finding",
            "history",
            "placement",
            "rules",
            "incident",
            "capacity",
        ],
        crates: &["jiff", "serde"],
    },
];

/// Edges that must not know each other.
const EDGES: &[(&str, &[&str])] = &[
    ("source", &["snapshot", "clock", "printable"]),
    (
        "publish",
        &[
            "snapshot", "finding", "incident", "rules", "cycle", "clock", "version",
        ],
    ),
    ("simulate", &["snapshot"]),
    ("store", &["snapshot", "finding", "incident", "clock"]),
];

/// A crate of a room that only files whose path begins so may name, and why.
const ONLY_IN: &[(&str, &str, &str)] = &[
    (
        "humantime",
        "src/snapshot/limits.rs",
        "spans are read there and nowhere else",
    ),
    (
        "serde_json",
        "src/snapshot/recording",
        "recordings are the only JSON inside",
    ),
];

/// Files of pure rooms that may name a hash map or set, and why its order reaches no output.
const HASHED: &[(&str, &str)] = &[(
    "src/snapshot/signal/mod.rs",
    "names are looked up, never walked",
)];

/// One mention of a path: `crate::rules::…`, `serde::…`.
struct Mention {
    file: PathBuf,
    line: usize,
    root: String,
    /// What comes after `crate::`.
    below: Option<String>,
}

#[test]
fn pure_rooms_import_only_what_they_may() {
    let crates = dependencies();
    let mut wrong = Vec::new();
    for room in PURE {
        for file in files_of(room.name) {
            for mention in mentions(&file, &crates) {
                if let Some(problem) = judge(room, &mention) {
                    wrong.push(format!(
                        "{}:{}: {problem}",
                        show(&mention.file),
                        mention.line
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn judge(room: &Room, mention: &Mention) -> Option<String> {
    if let Some(below) = &mention.below {
        let known = room.name == below || room.rooms.contains(&below.as_str());
        return (!known).then(|| {
            format!(
                "`{}` may not know `{below}`: data flows one way. It may know: {}. Hand what is \
                 needed in as an argument, or move it to the room that owns it",
                room.name,
                or_nothing(room.rooms)
            )
        });
    }
    let name = mention.root.as_str();
    if !room.crates.contains(&name) {
        return Some(format!(
            "`{}` is pure and may not name the crate `{name}`, only: std, {}. Work with the \
             outside belongs to source/, publish/, app or cli",
            room.name,
            room.crates.join(", ")
        ));
    }
    let only = ONLY_IN.iter().find(|(only, ..)| *only == name)?;
    (!show(&mention.file).starts_with(only.1))
        .then(|| format!("only {}… may name `{name}`: {}", only.1, only.2))
}

#[test]
fn edges_do_not_know_each_other() {
    let crates = dependencies();
    let mut wrong = Vec::new();
    for (name, allowed) in EDGES {
        for file in files_of(name) {
            for mention in mentions(&file, &crates) {
                let Some(below) = mention.below else { continue };
                if below != *name && !allowed.contains(&below.as_str()) {
                    wrong.push(format!(
                        "{}:{}: `{name}` may not know `{below}`, only: {}",
                        show(&mention.file),
                        mention.line,
                        or_nothing(allowed)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn no_order_of_a_hash_map_can_reach_a_finding() {
    let mut wrong = Vec::new();
    let mut unused: BTreeSet<&str> = HASHED.iter().map(|(file, _)| *file).collect();
    for file in PURE.iter().flat_map(|room| files_of(room.name)) {
        for (number, line) in code_lines(&file) {
            let hashed = ["HashMap", "HashSet", "hash_map", "hash_set", "RandomState"];
            let Some(name) = hashed.iter().find(|name| line.contains(**name)) else {
                continue;
            };
            if !unused.remove(show(&file).as_str())
                && !HASHED.iter().any(|(listed, _)| *listed == show(&file))
            {
                wrong.push(format!(
                    "{}:{number}: `{name}` in a pure room: its order differs from run to run, and \
                     findings must not. Take a BTreeMap or a sorted Vec; for look-ups alone add \
                     the file to HASHED with the reason",
                    show(&file)
                ));
            }
        }
    }
    wrong.extend(
        unused
            .iter()
            .map(|file| format!("{file} is in HASHED and needs it no more")),
    );
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_reader_of_imports_sees_what_there_is_to_see() {
    let crates: BTreeSet<String> = ["serde", "tokio"].map(str::to_owned).into();
    let see = |text: &str| {
        let mut seen = Vec::new();
        paths(text, &crates, &mut |root, below| seen.push((root, below)));
        seen
    };
    let below = |name: &str| ("crate".to_owned(), Some(name.to_owned()));
    assert_eq!(see("use crate::rules::Rule;"), [below("rules")]);
    assert_eq!(
        see("use crate::{rules::Rule, cycle};"),
        [below("rules"), below("cycle")]
    );
    assert_eq!(see("let x = crate::app::check(y);"), [below("app")]);
    assert_eq!(
        see("#[derive(serde::Serialize)]"),
        [("serde".to_owned(), None)]
    );
    assert_eq!(see("pub use tokio;"), [("tokio".to_owned(), None)]);
    assert_eq!(see("self.serde::<u8>(tokio)"), []);
    assert_eq!(see("x::serde::y()"), []);
}

/// Finds paths that begin with `crate` or the name of a dependency.
fn paths(line: &str, crates: &BTreeSet<String>, found: &mut dyn FnMut(String, Option<String>)) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    while let Some(start) = line[at..].find(is_name).map(|start| at + start) {
        let end = line[start..]
            .find(|c| !is_name(c))
            .map_or(line.len(), |end| start + end);
        let (before, name, after) = (&line[..start], &line[start..end], &line[end..]);
        at = end;
        if before.ends_with("::") || before.ends_with('.') {
            continue;
        }
        let imported = before.trim_end().ends_with("use") && after.starts_with([';', ' ']);
        if name == "crate" {
            let Some(rest) = after.strip_prefix("::") else {
                continue;
            };
            let firsts = match rest.strip_prefix('{') {
                None => vec![rest],
                Some(list) => top_level(list),
            };
            for first in firsts {
                let first = first.trim_start();
                let end = first.find(|c| !is_name(c)).unwrap_or(first.len());
                found("crate".into(), Some(first[..end].to_owned()));
            }
        } else if crates.contains(name) && (after.starts_with("::") || imported) {
            found(name.to_owned(), None);
        }
    }
}

/// The parts of a `{…}` list, without those of lists inside it.
fn top_level(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&list[from..at]);
                return parts;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn mentions(file: &Path, crates: &BTreeSet<String>) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (line, text) in statements(file) {
        paths(&text, crates, &mut |root, below| {
            mentions.push(Mention {
                file: file.to_owned(),
                line,
                root,
                below: below.filter(|name| name != "tests"),
            });
        });
    }
    mentions
}

/// The lines of code, with `use {…}` lists that go over several lines made one.
fn statements(file: &Path) -> Vec<(usize, String)> {
    let mut statements: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in code_lines(file) {
        match statements.last_mut() {
            Some((_, statement)) if open => statement.push_str(line.trim()),
            _ => statements.push((number, line.clone())),
        }
        let trimmed = line.trim_start();
        let begins = trimmed.starts_with("use ") || trimmed.starts_with("pub use ");
        open = (open || begins) && !line.contains(';');
    }
    statements
}

/// The lines that are neither comments nor tests: a file's tests stand at its end.
fn code_lines(file: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(file).expect("a source file");
    (1..)
        .zip(text.lines())
        .take_while(|(_, line)| *line != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number, line.split(" // ").next().unwrap_or(line).to_owned()))
        .collect()
}

/// The source files of a room, but those of its tests.
fn files_of(room: &str) -> Vec<PathBuf> {
    let src = root().join("src");
    let mut files = Vec::new();
    let single = src.join(format!("{room}.rs"));
    if single.exists() {
        files.push(single);
    }
    walk(&src.join(room), &mut files);
    files.retain(|file| !file.ends_with("tests.rs") && file.iter().all(|part| part != "tests"));
    files.sort();
    files
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The crates that the manifest names, as code spells them.
fn dependencies() -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let mut section = String::new();
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            line.clone_into(&mut section);
        } else if section.ends_with("dependencies]")
            && let Some((name, _)) = line.split_once(" = ")
        {
            names.insert(name.replace('-', "_"));
        }
    }
    assert!(
        names.contains("tokio") && names.contains("serde"),
        "{names:?}"
    );
    names
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn show(file: &Path) -> String {
    file.strip_prefix(root())
        .unwrap_or(file)
        .display()
        .to_string()
}

fn or_nothing(names: &[&str]) -> String {
    if names.is_empty() {
        return "nothing of ours".into();
    }
    names.join(", ")
}

#[test]
fn the_tables_name_no_room_twice() {
    let mut seen = BTreeSet::new();
    for room in PURE {
        assert!(seen.insert(room.name), "{}", room.name);
    }
}
