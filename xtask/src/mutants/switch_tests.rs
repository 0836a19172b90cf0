//! What is chosen by a number is what it is alone.

use super::*;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
const SIZE: usize = 3 + 1;
const fn fixed(n: i64) -> i64 { n * 5 }
fn area(a: i64, b: i64) -> i64 { a * b + 10 }
fn both(a: bool, b: bool) -> bool { a && b }
fn either(a: bool, b: bool) -> bool { a || b }
fn large(x: Option<i64>) -> bool { if let Some(x) = x && x > 2 { true } else { false } }
fn kind(x: i64) -> &'static str {
    match x {
        0 => "none",
        n if n < 0 => "below",
        _ => "above",
    }
}
fn turned(x: bool) -> bool { !x }
fn sum(xs: &[i64]) -> i64 {
    let mut sum = 0;
    for i in 0..xs.len() {
        sum += xs[i] - -(i as i64);
    }
    sum
}
fn same(a: &str, b: &String) -> bool { a == b }
fn all(n: i64) -> impl Iterator<Item = i64> { 0..n }
fn main() {
    let words = [String::from("a"), String::from("b")];
    println!("{} {} {}", SIZE, fixed(2), area(3, 4));
    for a in [false, true] {
        println!("{} {} {} {}", both(a, true), both(a, false), either(a, true), either(a, false));
        println!("{} {}", turned(a), large(if a { Some(3) } else { None }));
    }
    println!("{} {} {} {}", kind(-1), kind(0), kind(1), large(Some(2)));
    println!("{} {} {}", sum(&[3, 1, 4]), same("a", &words[0]), same("a", &words[1]));
    println!("{:?}", all(3).collect::<Vec<_>>());
}
"#;

/// Genre, where it stands, what of that is replaced, and with what.
const CHANGES: [(&str, &str, &str, &str); 20] = [
    ("BinaryOperator", "3 + 1", "+", "-"),
    ("BinaryOperator", "n * 5", "*", "+"),
    ("BinaryOperator", "a * b", "*", "+"),
    ("BinaryOperator", "b + 10", "+", "-"),
    ("BinaryOperator", "b + 10", "+", "*"),
    ("FnValue", "a * b + 10", "a * b + 10", "1"),
    ("BinaryOperator", "a && b", "&&", "||"),
    ("BinaryOperator", "a || b", "||", "&&"),
    ("BinaryOperator", "x && x > 2", "&&", "||"),
    ("BinaryOperator", "x > 2", ">", ">="),
    ("MatchArm", "0 => \"none\",", "0 => \"none\",", ""),
    ("MatchArm", "n if n < 0 => \"below\",", "n if n < 0 => \"below\",", ""),
    ("MatchArmGuard", "n < 0 =>", "n < 0", "true"),
    ("BinaryOperator", "n < 0", "<", "=="),
    ("UnaryOperator", "!x", "!", ""),
    ("BinaryOperator", "sum += xs", "+=", "-="),
    ("BinaryOperator", "] - -", "-", "+"),
    ("UnaryOperator", "-(i as", "-", ""),
    ("BinaryOperator", "a == b", "==", "!="),
    ("FnValue", "0..n", "0..n", "std::iter::once(7)"),
];

fn mutants() -> Vec<Mutant> {
    let of = |&(genre, place, part, with): &(&str, &str, &str, &str)| {
        let start = PROGRAM.find(place).expect("a place") + place.find(part).expect("a part");
        let function = PROGRAM[..start].rfind("fn ").unwrap_or(0);
        Mutant {
            name: format!("replace {part} with {with} at {place}"),
            file: String::new(),
            genre: genre.to_owned(),
            span: start..start + part.len(),
            replacement: with.to_owned(),
            returns: PROGRAM[function..start].lines().next().unwrap_or_default().to_owned(),
        }
    };
    CHANGES.iter().map(of).collect()
}

/// What a program says; nothing where it does not compile.
fn said(folder: &Path, text: &str, chosen: &str) -> Option<String> {
    let (source, program) = (folder.join("program.rs"), folder.join("program"));
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("rustc");
    compiler.args(["--edition", "2024", "-A", "warnings", "-o"]).arg(&program).arg(source);
    if !compiler.output().unwrap().status.success() {
        return None;
    }
    let output = Command::new(program).env("MUTANT_CHOSEN", chosen).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A mutant that is chosen by its number does what it does alone, and no other one does anything.
#[test]
fn a_chosen_mutant_does_what_it_does_alone() {
    let folder = std::env::temp_dir().join(format!("mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mutants = mutants();
    let all: Vec<_> = mutants.iter().enumerate().collect();
    let switched = switched(PROGRAM, &all, "crate::switched_mutants::on").unwrap();
    // A constant, a constant function, what binds a name, and a value of a type that only the body says.
    assert_eq!(switched.left, [0, 1, 8, 19]);
    let text = switched.text.clone() + &module(all.len());
    let unbroken = said(&folder, PROGRAM, "").expect("a program");
    assert_eq!(said(&folder, &text, "none").expect("a program"), unbroken);
    for (number, mutant) in all {
        if switched.left.contains(&number) {
            continue;
        }
        let alone = said(&folder, &mutant.alone(PROGRAM), "").expect("a program");
        assert_ne!(alone, unbroken, "{}", mutant.name);
        let chosen = said(&folder, &text, &number.to_string()).expect("a program");
        assert_eq!(chosen, alone, "{}", mutant.name);
        // And a fault there is known to be its own.
        let line = text.lines().position(|l| l.ends_with(&format!("// {number}{MARK}")));
        let line = line.expect("a line of its own") + 1;
        assert_eq!(switched.behind(line..line + 1), (vec![number], true));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
